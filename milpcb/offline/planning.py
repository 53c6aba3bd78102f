"""The number of rows that a trial needs before it may end, by simulated trials and the rule of ``settled``."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log1p

import numpy as np

from milpcb.core.checks import check_confidence, real, whole
from milpcb.errors import InputError
from milpcb.offline.settled import Refutation, TrialRows
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import PolicyClass
from milpcb.rng import child
from milpcb.types import Floats, Ints

CLOSE = 1.01  # how close the row is found from which on a simulated trial may end, as a factor


@dataclass(frozen=True)
class Design:
    """The law of a planned trial: rows of yes/no features, and costs of 0 or 1.

    The first feature is yes for the ``share`` of the people; for them action 1 costs ``effect`` less than the others,
    for everybody else action 0 does. All other costs have the mean ``base``, other features are yes for half of the
    people, and all actions are equally likely.
    """

    n_features: int
    n_actions: int
    effect: float
    share: float
    base: float = 0.5

    def __post_init__(self) -> None:
        whole("features", self.n_features, 1, 10_000)
        whole("actions", self.n_actions, 2)
        base = real("base", self.base, "above 0 and at most 1", lambda value: 0 < value <= 1)
        real("effect", self.effect, f"from 0 to the base of {base:g}", lambda value: 0 <= value <= base)
        real("share", self.share, "from 0 to 1", lambda value: 0 <= value <= 1)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Ints, Floats]:
        """Return the features (n, d), actions (n,) and costs (n,) of n rows."""
        features = rng.random((n, self.n_features)) < np.where(np.arange(self.n_features) == 0, self.share, 0.5)
        action = rng.integers(self.n_actions, size=n)
        chance = self.base - self.effect * (action == features[:, 0])
        return features.astype(float), action, (rng.random(n) < chance).astype(float)


@dataclass(frozen=True, eq=False)
class Plan:
    """The numbers of ``rows`` (trials,), sorted, after which simulated trials could end; inf beyond ``most`` rows."""

    rows: Floats
    most: int

    def needed(self, power: float) -> float:
        """Return the number of rows after which the share ``power`` of them could end; inf where fewer ever did."""
        return float(self.rows[ceil(round(power * len(self.rows), 6)) - 1])

    def between(self, power: float) -> tuple[float, float]:
        """Return the 95 % interval of ``needed``, by the order of the trials."""
        n = len(self.rows)
        reach = 1.96 * np.sqrt(n * power * (1 - power))
        places = np.clip([np.floor(n * power - reach), np.ceil(n * power + reach)], 0, n - 1).astype(int)
        low, high = self.rows[places].tolist()
        return low, high


def plan(
    policies: PolicyClass,
    design: Design,
    eps: float,
    *,
    confidence: float = 0.95,
    trials: int = 400,
    most: int = 200_000,
    seed: int = 0,
    tick: Callable[[int, int], None] | None = None,
) -> Plan:
    """Return the numbers of rows after which simulated trials could end: 400 of them give the power to 4 points.

    The policy class has explicit cut points. A trial is given up after ``most`` rows; ``tick`` is called with the
    numbers of finished trials, and of all.
    """
    real("eps", eps, "above 0 and at most 1", lambda value: 0 < value <= 1)
    check_confidence(confidence)
    whole("trials", trials, 1)
    if policies.n_actions != design.n_actions:
        raise InputError(f"the class has {policies.n_actions} actions, and the design {design.n_actions}")
    found = []
    for number in range(trials):
        found.append(SimulatedTrial(policies, design, confidence, child(seed, "plan", number)).rows_needed(eps, most))
        if tick is not None:
            tick(number + 1, trials)
    return Plan(np.sort(found), most)


class SimulatedTrial:
    """The rows of one trial, more of which are drawn when they are needed."""

    def __init__(self, policies: PolicyClass, design: Design, confidence: float, rng: np.random.Generator) -> None:
        self._design, self._confidence, self._rng = design, confidence, rng
        self._oracle = GrowingOracle(policies)
        self._columns: list[np.ndarray] = [np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)]
        self._even = 1 / design.n_actions

    def ends(self, n: int, eps: float) -> bool:
        """Return whether the trial may end after ``n`` rows."""
        more = n - len(self._columns[0])
        if more > 0:
            features, action, cost = self._design.draw(more, self._rng)
            new = (self._oracle.rows(features), action, cost)
            self._columns = [np.append(old, drawn) for old, drawn in zip(self._columns, new, strict=True)]
        context, action, cost = (column[:n] for column in self._columns)
        even = np.full(n, self._even)
        rows = TrialRows.of(context, action, cost, even, even, self._design.n_actions)
        return Refutation(self._oracle, self._oracle.log_union, rows, self._confidence).refutes(eps)

    def rows_needed(self, eps: float, most: int) -> float:
        """Return the number of rows after which it may end, to 1 %; inf beyond ``most``."""
        low = self.fewest(eps)
        high = 2 * low
        while not self.ends(min(high, most), eps):
            if high >= most:
                return np.inf
            low, high = high, 2 * high
        high = min(high, most)
        while high > CLOSE * low + 1:
            middle = round((low * high) ** 0.5)
            low, high = (low, middle) if self.ends(middle, eps) else (middle, high)
        return float(high)

    def fewest(self, eps: float) -> int:
        """Return a number of rows up to which no trial may end, as the best policy itself is not refuted by then."""
        greatest = min(1.0, 2 * self._even)  # of all stakes, as what is expected is at best a half
        return int((self._oracle.log_union - log1p(-self._confidence)) / log1p(greatest * eps))
