"""What a policy is worth: values with intervals, of a policy fixed beforehand and of a procedure that learns one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from milpcb.offline.log import Log
from milpcb.offline.scores import Scores
from milpcb.types import Ints, Policy


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and its interval, in the unit of the outcome."""

    value: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True)
class LeafValue:
    """What one part of a policy is worth: its action, its share of the rows (0..1), and the mean outcome there."""

    action: int
    name: str
    share: float
    value: Estimate


@dataclass(frozen=True)
class Evaluation:
    """What a policy is worth.

    Attributes
    ----------
    value : of the policy, in the unit and sign of the log
    constants : by name of action, the value of always playing it
    gain_over : by name of action, how much better the policy is than always playing it: positive is better, for
        rewards and for costs
    logged : the value of what was done
    gain_over_logged : how much better the policy is than what was done
    gain : over the best constant: the least of ``gain_over`` at every end, which allows for the best one being chosen
    leaves : by part of the policy; () where it has none
    interval, level : kind of the intervals, and how often they hold

    """

    value: Estimate
    constants: Mapping[str, Estimate]
    gain_over: Mapping[str, Estimate]
    logged: Estimate
    gain_over_logged: Estimate
    gain: Estimate
    leaves: tuple[LeafValue, ...]
    interval: str
    level: float

    def words(self) -> list[str]:
        """Return the findings, a sentence each."""
        raise NotImplementedError


def evaluate(
    scores: Scores,
    policy: Any,
    *,
    contexts: Any = None,
    interval: str = "normal",
    level: float = 0.95,
    outcome_range: tuple[float, float] | None = None,
    seed: int = 0,
) -> Evaluation:
    """Return the value of a policy that was fixed without these rows.

    Parameters
    ----------
    scores : see ``milpcb.offline.scores``
    policy : anything with ``predict(contexts)``, or the actions (n,) it plays; numbers or names
    contexts : (n, d) what the policy reads; None: the features of the log
    interval : "normal", "bootstrap" (studentised) or "bernstein" (empirical Bernstein; holds at any n for outcomes in
        ``outcome_range``)
    level : how often an interval covers the truth
    outcome_range : the least and the greatest outcome there can be; None takes those of the log
    seed : of the bootstrap

    Raises
    ------
    InputError, UnknownNameError (interval)

    """
    raise NotImplementedError


def cross_evaluate(
    procedure: Callable[[Scores, Ints], Policy | Any],
    log: Log | Scores,
    *,
    contexts: Any = None,
    folds: int = 5,
    interval: str = "normal",
    level: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> Evaluation:
    """Return the value of a *procedure*: it learns on all folds but one, and is evaluated on that one, in turn.

    Parameters
    ----------
    procedure : ``procedure(scores, rows)`` returns a policy (or the actions of all n rows) learnt from the ``scores``
        of the ``rows`` (numbers of rows of the log) of k - 1 folds
    log : a log, then scores are made anew for every split and no row that is evaluated is seen by any model; or scores,
        then their rows are used as they are (the models of the propensities and outcomes saw other folds)
    contexts : (n, d) what policies read; None: the features of the log
    folds : number of folds, >= 2
    interval, level, seed : see ``evaluate``
    options : further ones of ``scores`` where a log is given

    """
    raise NotImplementedError
