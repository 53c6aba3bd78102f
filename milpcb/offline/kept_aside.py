"""Held-out rows: nothing is learnt from them, so ordinary intervals hold on them."""

from __future__ import annotations

import numpy as np

from milpcb.core.checks import real
from milpcb.errors import InputError
from milpcb.offline.log import Log, check_log
from milpcb.rng import child
from milpcb.types import Bools


def kept_aside(log: Log, share: float, seed: int = 0) -> Bools:
    """Return which rows (n,) of a log are kept aside: about ``share`` of each action's, or of the groups.

    To be strict, split the log before anything is estimated: ``log.take(np.flatnonzero(~aside))`` is learnt from and
    ``log.take(np.flatnonzero(aside))`` scored and evaluated by itself.

    Parameters
    ----------
    log : see ``read_log``; rows of a group stay together
    share : strictly between 0 and 1
    seed : of the draw

    Raises
    ------
    InputError : another share; an action that would be missing in one of the two parts

    """
    check_log(log)
    part = real("holdout", share, "between 0 and 1 (0.3 is usual)", lambda value: 0 < value < 1)
    members = log.members
    first = np.unique(members, return_index=True)[1]
    rng, aside = child(seed, "offline", "kept aside"), np.zeros(len(first), dtype=bool)
    for k in range(len(log.actions)):
        own = rng.permutation(np.flatnonzero(log.action[first] == k))
        aside[own[: round(part * len(own))]] = True
    rows = aside[members]
    for where, what in ((rows, "kept aside"), (~rows, "left to learn from")):
        missing = set(range(len(log.actions))) - set(log.action[where].tolist())
        if missing:
            raise InputError(f"of the rows {what} none has action '{log.actions[min(missing)]}'; change holdout")
    return np.asarray(rows)
