"""Rounds that are only looked at: what a learner would play, and the estimates that it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.types import Floats


def drawn(learner: Any, row: int) -> Floats:
    """Return q on a row from where the learner stands; the round is given up."""
    q: Floats = learner.act(row)
    learner.give_up()
    return q


def past(learner: Any) -> Floats:
    """Return the hits (m, K) that are the estimates of BISTRO+ so far."""
    return np.array(learner.state()["past"])
