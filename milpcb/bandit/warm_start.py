"""The rounds of a log, as a bandit that begins with them takes them in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.bandit.rewards import cost_of
from milpcb.data.actions import place
from milpcb.errors import InputError, shown

if TYPE_CHECKING:
    from milpcb.offline import Log

Logged = tuple[int, float, list[float]]  # number of the action, cost, law (K,)


def logged_rounds(log: Log, names: Sequence[Any], rewards: Sequence[float] | None) -> Iterator[Logged]:
    """Yield the action, the cost and the law of each row of a log; actions are matched by name.

    The chances of actions that are not known are 0 in a law: nothing is learnt of them. Raises InputError on a log
    without chances that were given, on outcomes outside of their range, UnknownNameError on actions that are none.
    """
    if not all(hasattr(log, part) for part in ("features", "action", "outcome", "propensity", "shares")):
        raise InputError(f"from_log takes a log as milpcb.offline.read_log makes it, got {shown(log)}")
    if log.propensity is None or log.shares:
        raise InputError(
            "from_log needs the chances that actions were drawn with, as in read_log(..., propensity=...): what is "
            "estimated from the log itself would make certificates wrong"
        )
    numbers = [place("action of the log", name, list(map(str, names))) for name in log.actions]
    paid = "reward" if log.maximise else "cost"
    for row, (action, outcome, chances) in enumerate(zip(log.action, log.outcome, log.propensity, strict=True)):
        law = np.zeros(len(names))
        law[numbers] = np.nan_to_num(chances)
        try:
            cost = cost_of(**{"cost": None, "reward": None, paid: float(outcome)}, rewards=rewards)
        except InputError as error:
            raise InputError(f"row {row} of the log: {error}") from error
        yield numbers[action], cost, law.tolist()
