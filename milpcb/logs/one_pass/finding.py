"""What follows from the sums over a log: the best rule, its value, and what can be claimed of it.

The band of milpcb.offline searches again and again over the rows, which are gone after one pass. In its place stands
Bernstein's inequality for all N rules of the class at once, each compared with each of the K constants: with s the
standard error of a mean, w the length of the range of its terms and L = ln(4 N K / (1 - level)), no rule's mean is off
by more than sqrt(2 L) s + 7 w L / (3 (n - 1)) (Maurer and Pontil 2009, theorem 4, and the union bound). It holds at
every n, for terms in the range seen, and it is wide: for trees of depth 2, L is about 25, so that intervals are some
three times as long as ordinary ones. Rows kept aside have ordinary ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.logs.source import Columns
from milpcb.offline import IntervalEstimate, State
from milpcb.offline.inference import SMALL
from milpcb.offline.intervals import UNKNOWN
from milpcb.offline.standing import StandIn, at_level
from milpcb.oracles import open_oracle
from milpcb.protocols import open_class
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Claims:
    """What holds of the best rule after the search, and of all rules of its class.

    Attributes
    ----------
    value : of the rule
    gain : over the best constant
    most : no rule of the class gains more than this over the best constant
    small : the gain up to which differences are called small
    log_size : the natural logarithm of the number of rules
    state : the verdict

    """

    value: IntervalEstimate
    gain: IntervalEstimate
    most: float
    small: float
    log_size: float
    state: State


@dataclass(frozen=True)
class Part:
    """A part of the rule: its action, its share of the rows, the value there and the gain over the best constant.

    ``summary`` is what drawings have of it.
    """

    summary: Any
    action: str
    share: float
    value: float
    gain: float


@dataclass(frozen=True, eq=False)
class OnePass:
    """What came out of one pass.

    Attributes
    ----------
    name : what to call the log
    columns : which column is what
    estimator : fitted to the sums
    level : how often intervals hold
    binary : whether every outcome is 0 or 1, and treatments cost nothing
    notes, warnings : of the sample
    n_files, n_sampled, model_rows : files that were read, rows of the sample, and of these for models at most
    learnt, aside : what stands for the rows that the rule was learnt from, and for those kept aside, None for none
    value_aside, gain_aside : of the rule in the rows kept aside, None for none
    claims : what holds on the rows that it was learnt from
    parts : of the rule, in the order in which they print
    unit : what outcomes are in, "" for no word

    """

    name: str
    columns: Columns
    estimator: Any
    level: float
    binary: bool
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    n_files: int
    n_sampled: int
    model_rows: int
    learnt: StandIn
    aside: StandIn | None
    value_aside: IntervalEstimate | None
    gain_aside: IntervalEstimate | None
    claims: Claims
    parts: tuple[Part, ...]
    unit: str

    @property
    def actions(self) -> tuple[str, ...]:
        """The K names of the actions."""
        return self.learnt.diagnostics.actions

    @property
    def best_constant(self) -> str:
        """The action that is best where it is always played."""
        return self.actions[self.learnt.best_action]

    @property
    def quantile(self) -> float:
        """How many standard errors an interval by the normal law reaches to each side."""
        return float(norm.ppf((1 + self.level) / 2))

    @property
    def shown_aside(self) -> bool:
        """Whether the rows kept aside show that the rule gains."""
        sound = self.learnt.diagnostics.fits
        return sound and self.gain_aside is not None and self.gain_aside.lower > 0

    @property
    def state(self) -> State:
        """The verdict, by the rows kept aside too."""
        return State.TARGET if self.shown_aside else self.claims.state


def claims_of(estimator: Any, contexts: Floats, level: float) -> Claims:
    """Return what holds of the policy of a fitted estimator, and of all of its class, on the ``contexts`` (m, d)."""
    found: StandIn = estimator.stand_in_
    log_size = float(open_class(estimator.policies_, contexts).log_size)
    each = np.log(4 / (1 - level)) + log_size + np.log(len(found.constants))
    quantile, beyond = np.sqrt(2 * each), 7 * each / (3 * (found.n - 1))
    value = at_level(found.value(estimator.played_), quantile, beyond * found.reach[0])
    gains = {
        k: at_level(found.gain(estimator.played_, k), quantile, beyond * found.reach[1])
        for k in np.flatnonzero(found.known).tolist()
    }
    gain = _over_best(gains, gains, found.best_action)
    best, squares = found.best_action, found.squares(found.best_action)
    spread = np.sqrt(max(0.0, -_least_cost(estimator, contexts, -squares)) / found.n / (found.n - 1))
    sign = 1.0 if found.maximise else -1.0
    looks = sign * (estimator.lower_bound_ - found.constants[best])  # no rule looks better than the bound of the search
    most = max(0.0, looks + quantile * spread + beyond * found.reach[1])
    small = SMALL * found.spread
    state = State.TARGET if gain.lower > 0 else State.ALIKE if most <= small and gains else State.EARLY
    if not found.diagnostics.fits:
        state = State.EARLY
    return Claims(value, gain, most, small, log_size, state)


def aside_of(estimator: Any, layout: Any, aside: StandIn, level: float) -> tuple[IntervalEstimate, IntervalEstimate]:
    """Return the value of the policy in the rows kept aside, and its gain over whichever constant is the best."""
    played, K = np.asarray(estimator.found_.predict(layout.contexts(aside.codes))), len(aside.constants)
    quantile, at_once = (float(norm.ppf(1 - (1 - level) / 2 / times)) for times in (1, K))
    known = np.flatnonzero(aside.known).tolist()
    each, all_hold = ({k: at_level(aside.gain(played, k), reach) for k in known} for reach in (quantile, at_once))
    return at_level(aside.value(played), quantile), _over_best(each, all_hold, aside.best_action)


def parts_of(estimator: Any, contexts: Floats) -> tuple[Part, ...]:
    """Return the parts of the policy of a fitted estimator."""
    policy, found = estimator.found_, estimator.stand_in_
    part: Ints = np.asarray(policy.apply(contexts))
    sign, other = 1.0 if found.maximise else -1.0, found.best_action
    parts = []
    for number, (action, summary) in enumerate(zip(policy.leaf_actions, policy.leaves(contexts), strict=True)):
        here = part == number
        size = found.sizes[here].sum()
        own, alike = (found.scores[here, k].sum() / max(size, 1.0) for k in (action, other))
        name, share = found.diagnostics.actions[action], float(size / found.n)
        parts.append(Part(replace(summary, name=name, share=share), name, share, own, sign * (own - alike)))
    return tuple(parts)


def _over_best(each: dict[int, IntervalEstimate], at_once: dict[int, IntervalEstimate], best: int) -> IntervalEstimate:
    """Return the gain over the constant that looks best, with ends for that over the best in truth.

    The gain over the best is the least of the gains over any one; milpcb.offline.evaluate explains why the lower ends
    may hold for each by itself, and the upper ends must hold for all ``at_once``. Unknown where no constant is known.
    """
    if not each:
        return UNKNOWN
    own = each[best]
    lower, upper = min(one.lower for one in each.values()), min(one.upper for one in at_once.values())
    return IntervalEstimate(own.value, own.standard_error, lower, max(own.value, upper))


def _least_cost(estimator: Any, contexts: Floats, costs: Floats) -> float:
    """Return a lower bound on the least total cost of a policy of the class."""
    opened = open_class(estimator.policies_, contexts)
    kind = "search" if "search" in opened.capabilities else "milp"
    return float(open_oracle(opened, contexts, kind).minimise(costs).lower)
