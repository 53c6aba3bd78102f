"""Small value types that all parts exchange."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from milpcb.errors import OracleInexact

# Real costs are proved to this share of their range, the sum over contexts of the dearest less the cheapest action.
PROVED = 1e-9

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Aside(NamedTuple):
    """A round that was put aside: row, q (K,), the number of rounds finished when it began, and note."""

    row: int
    q: list[float]
    played: int
    note: Any = None


class Policy(Protocol):
    """A decision rule: a function from contexts to actions that prints as a rule one can read aloud."""

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,) int."""

    def __str__(self) -> str: ...


class ReadablePolicy(Policy, Protocol):
    """Interface of the policies of all classes in ``milpcb.policies``; policies.rule.Rule explains each method."""

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """The action of each part."""

    def predict_names(self, contexts: Any) -> list[str]:
        """Return the name of the action of each context."""

    def apply(self, contexts: Any) -> Ints:
        """Return the number of the part (n,) that each context (n, d) is in."""

    def leaves(self, contexts: Any, costs: Any = None, counts: Any = None) -> Sequence[Any]:
        """Return action, share of ``contexts`` (n, d) and mean cost of each part; ``costs`` is (n, K), or None."""

    def graph(self, leaves: Any = None) -> Any:
        """Return the rule as a rooted networkx graph."""

    def draw(self, axes: Any, leaves: Any = None) -> None:
        """Draw the rule on matplotlib axes."""

    def figure(self, leaves: Any = None) -> Any:
        """Return a matplotlib figure with the rule drawn on it."""

    def to_json(self) -> str:
        """Return the rule as JSON."""

    def parts(self) -> list[dict[str, Any]]:
        """Return conditions and action of each part as plain data."""

    def to_sql(self, actions: Any = None) -> str:
        """Return the rule as a CASE expression."""

    def to_python(self, actions: Any = None, name: str = "decide") -> str:
        """Return the source of a function ``name(row)``."""


# The type of an answer that may not be there, or come from a class of somebody's own whose policies only predict and
# print. ``Any`` beside a type lets a type checker complete and check what is known without asking for a test of None
# at every use, as for ``re.Match.group`` in the standard library.
FoundPolicy = ReadablePolicy | Any


class Stop(StrEnum):
    """Why a solver stopped. Only ``OPTIMAL`` is a proof."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    GAP_LIMIT = "gap_limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Solution:
    """Answer of a solver: ``objective`` of the incumbent ``x`` (n_columns,), if there is one, and a proved bound."""

    stop: Stop
    objective: float
    bound: float
    x: Floats | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """An oracle's answer: ``lower <= min over policies of the total cost <= upper``, in the unit of the costs.

    ``policy`` attains ``upper``; it is None when no policy was found in time. Where ``stop`` is ``OPTIMAL``, ``upper``
    is the minimum: exactly for integer costs whose sizes add up to at most 2e8, for all others to 1e-9 of the range of
    total costs (``PROVED``), at least of 1e-4 of the sizes of costs, as sums of floats are rounded.
    """

    lower: float
    upper: float
    policy: FoundPolicy
    stop: Stop
    seconds: float

    @property
    def value(self) -> float:
        """The proved minimum, in the units of the costs; raises OracleInexact when it is not proved."""
        if self.stop is not Stop.OPTIMAL:
            raise OracleInexact(
                f"the oracle stopped with '{self.stop}' between {self.lower:g} and {self.upper:g}: "
                "give it more time, or read .lower and .upper"
            )
        return self.upper

    def __repr__(self) -> str:
        return "\n".join([f"<Answer: {self._found}>", *([] if self.policy is None else [str(self.policy)])])

    def _repr_html_(self) -> str:
        drawn = getattr(self.policy, "_repr_html_", None)
        rules = drawn() if drawn is not None else f"<pre>{escape(str(self.policy))}</pre>"
        return f"<p>{escape(self._found)}</p>{'' if self.policy is None else rules}"

    @property
    def _found(self) -> str:
        value = f"{self.upper:.6g}" if self.stop is Stop.OPTIMAL else f"between {self.lower:.6g} and {self.upper:.6g}"
        nothing = "" if self.policy is not None else ", no policy found"
        return f"least total cost {value}, stop = {self.stop}, {self.seconds:.3g} s{nothing}"
