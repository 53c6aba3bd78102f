"""Replay of a log to learners by rejection sampling: a round counts only if the learner chooses as the log did."""

from typing import Any

import numpy as np

from milpcb import rng
from milpcb.core.checks import context_array
from milpcb.core.decimals import spaced
from milpcb.data.columns import Membership, Number, encoded
from milpcb.data.frames import table_names
from milpcb.data.made_columns import make_columns
from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.offline.log import Log, check_log
from milpcb.offline.overlap import completed
from milpcb.offline.settled import unit_costs
from milpcb.types import Floats


class LoggedRounds:
    """A live environment (``milpcb.play``) whose rounds are those of a log, in its order.

    Where a learner chooses as the log did, with probability p, the round counts with probability p_min / p, with p_min
    the least probability of *any* action in any row. So each row counts with probability p_min whatever the learner
    chooses, and if rows are i.i.d., the rounds that count are those that it would have met online (Li, Chu, Langford &
    Wang, WSDM 2011, for p = 1/K). The least probability of the actions of the log would be larger by chance.

    Parameters
    ----------
    log : with the probability of every action in every row: a table (n, K), (K,) or "randomised"; of two actions that
        of the action is enough
    outcome_range : least and greatest outcome, which become the costs 0 and 1, or 1 and 0 for rewards
    seed : of the rejections

    Attributes
    ----------
    contexts : (n, d) features as policies read them, for ``play(..., contexts=)``: numbers as they are, of strings and
        booleans columns of 0 and 1
    feature_names : (d,) the names of these columns, such as "region = north"; () where the log has no names

    """

    def __init__(self, log: Log, *, outcome_range: tuple[float, float] = (0.0, 1.0), seed: int = 0) -> None:
        check_log(log)
        table = _every_propensity(log)
        self.contexts, self.feature_names = _contexts(log.features)
        self.action_names = log.actions
        self._actions = log.action.tolist()
        self._costs = unit_costs(log.outcome, outcome_range, maximise=log.maximise).tolist()
        least = float(table.min())
        self._kept = (least / table[np.arange(len(log)), log.action]).tolist()
        self.expected_rounds = least * len(log)
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Begin again with the first row, for another play."""
        self._next = 0
        self._rng = rng.child(seed, "rejections")

    def context(self) -> Floats:
        """Return the features (d,) of the next row; raises InputError after the last."""
        if self._next == len(self.contexts):
            count = spaced(self.expected_rounds, ".0f")
            raise InputError(
                f"the log ends before the horizon: of its {spaced(self._next)} rows about {count} count; make the "
                "horizon shorter"
            )
        self._next += 1
        return np.asarray(self.contexts[self._next - 1])

    def cost(self, action: int) -> float | None:
        """Return the cost in [0, 1] of the row shown last, None where the round does not count."""
        row = self._next - 1
        counts = self._rng.random() < self._kept[row]
        return self._costs[row] if counts and self._actions[row] == action else None


def _contexts(features: Any) -> tuple[Floats, tuple[str, ...]]:
    names = table_names(features)
    if not names and np.asarray(features).dtype.kind != "O":
        return context_array(features), ()
    names = names or tuple(f"x{j}" for j in range(np.shape(features)[1]))
    schema = Schema.infer(features, names)
    fields, values = [schema[name] for name in names], schema.read(features)
    if numbers := [values[field.name] for field in fields if field.is_number]:
        context_array(np.column_stack(numbers))  # a missing number is refused
    made = make_columns(values, fields, missing="either", scores=True)
    columns = [each for each in made if not isinstance(each, Membership) or len(each.values) == 1]
    titles = (each.name if isinstance(each, Number) else each.words(holds=True) for each in columns)
    return context_array(encoded(columns, values, range(len(columns)))), tuple(titles)


def _every_propensity(log: Log) -> Floats:
    table = None if log.propensity is None else completed(log.propensity)
    if table is None or np.isnan(table).any():
        raise InputError(
            "replay needs the probability of every action in every row, not only of what was done: "
            f"give read_log a propensity of shape ({len(log)}, {len(log.actions)})"
        )
    if table.min() <= 0:
        row, action = np.unravel_index(table.argmin(), table.shape)
        raise InputError(
            f"action '{log.actions[action]}' had no chance in row {row}, so a learner that chooses it cannot be "
            "replayed; leave out such rows, or the action"
        )
    return table
