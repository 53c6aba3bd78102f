"""The base class of learners: the rules of play, which it checks, and the certificates of a play."""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from milpcb.blocks import Changes
from milpcb.core.checks import check_confidence, check_returned, index, number_array, probabilities, unit_cost, whole
from milpcb.core.kept import restore_into, state_of
from milpcb.errors import InputError, OracleInexact, shown
from milpcb.learners.needs import check_oracle
from milpcb.ledger import Certificate, Ledger, Minimiser
from milpcb.rng import check_seed
from milpcb.types import Aside, Floats, FoundPolicy

DUE = "learn(row, action, cost, probability)"


class Learner(ABC):
    """Plays actions. Keyword arguments of the constructor are the keys of a ``[[learners]]`` section of a config.

    An algorithm is a subclass with ``_act`` and ``_learn``; the public methods check every call, so that no subclass
    has to. ``kept`` names the attributes that change from round to round; a saved state holds them. Plain data that
    ``_act`` leaves in ``note`` is there again in the ``_learn`` or ``_give_up`` of the same round.

    Learners that declare ``full_information`` are shown all costs after ``learn``, by ``learn_all``. The guarantee of a
    ``stochastic`` learner is for i.i.d. costs. Rounds of a ``delayed`` learner may be learnt later, in any order. The
    play of a learner that ``plays_policies`` is a mix of policies of its oracle. A learner that ``hides_law`` draws
    some of its random numbers within ``_act``; q is the law of its action given these.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts that rows are numbers of; None for learners that have none
    n_actions : K >= 2; None takes the oracle's
    horizon : number of rounds T that may be played, and that a guarantee is for; None for no end, and no guarantee
    seed : non-negative integer, of all that the learner draws

    """

    full_information: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False
    delayed: ClassVar[bool] = False
    plays_policies: ClassVar[bool] = False
    hides_law: ClassVar[bool] = False
    oracle: Any  # a ValueOracle; None for learners that have none
    n_actions: int
    horizon: int | None
    seed: int
    played: int = 0
    late: bool = False  # in ``_learn``: whether others were learnt since the round's ``_act``
    _before: int = 0  # of a late round: how many were finished when it began
    note: Any = None  # what ``_act`` keeps for the end of its round; None of a round that was taken over
    kept: ClassVar[tuple[str, ...] | None] = None
    _aside: int = 0  # rounds put aside
    _turn: tuple[int, list[float]] | None = None  # row and q of the round that has begun

    def __init__(
        self, oracle: Any = None, *, n_actions: int | None = None, horizon: int | None = None, seed: int = 0
    ) -> None:
        if oracle is not None or n_actions is None:
            check_oracle(oracle)
        self.oracle = oracle
        self.n_actions = whole("n_actions", oracle.n_actions if n_actions is None else n_actions, 2)
        asked = inspect.signature(type(self).__init__).parameters.get("horizon")
        may_be_none = asked is None or asked.default is None
        self.horizon = None if horizon is None and may_be_none else whole("horizon", horizon, 1)
        self.seed = check_seed(seed)
        self.ledger = Ledger()
        self.ledger.blocks.plan(self.horizon)

    @property
    def least_chance(self) -> float:
        """The least probability of any action in the next round, whatever its context; 0 where none is known."""
        return 0.0

    @abstractmethod
    def _act(self, row: int) -> Floats:
        """Return the probability (K,) of each action on the context ``row``, an array that nothing else writes to."""

    @abstractmethod
    def _learn(self, row: int, action: int, cost: float, probability: float) -> float | None:
        """Take in the cost in [0, 1] of the action played, with the probability it was played with.

        A learner that draws within ``_act`` returns its estimate (see milpcb.ledger); None is cost / probability.
        """

    def _learn_all(self, row: int, costs: Floats) -> None:
        """Take in all K costs in [0, 1]; for learners that declare ``full_information``."""
        del row, costs
        raise InputError(f"learner {type(self).__name__} declares full_information, so it must define _learn_all")

    def _give_up(self) -> None:  # noqa: B027 - most learners do not count rounds begun
        """Take in that the round which ``_act`` began is given up."""

    def _lose(self) -> None:
        """Take in that the round was played, and its cost will never be known."""
        self._give_up()

    def _override(self, row: int, action: int) -> None:
        """Take in that somebody else played ``action`` in the round that ``_act`` began."""
        del row, action
        self._give_up()

    def _pay(self, cost: float) -> None:  # noqa: B027 - the ledger does
        """Take in what a round cost that ended so."""

    def _go_on(self, before: Self) -> None:
        """Take in what ``before`` knew, of the same options but fewer actions; the ledger takes it in after that."""
        del before
        raise InputError(f"{type(self).__name__} cannot go on with another action; take 'exp4', or 'uniform'")

    def _restore(self, state: dict[str, Any]) -> None:
        """Read back what ``kept`` names, on a learner made with the same arguments; ``state`` has it by name."""
        restore_into(self, self.kept or (), state)

    def act(self, row: int) -> Floats:
        """Return the probability (K,) of each action on the context ``row``; raises InputError out of turn."""
        if self._turn is not None:
            raise InputError(f"{self._round()} is not over: call {DUE} before the next act()")
        m = None if self.oracle is None else self.oracle.n_contexts
        if type(row) is not int or row < 0 or (m is not None and row >= m):
            row = index("row", row, m)
        self._check_horizon()
        q = self._act(row)
        try:
            self._turn = (row, probabilities(q, self.n_actions))
        except ValueError as error:
            raise InputError(f"{self._round()}: act() found q = {shown(q)}, no distribution: {error}") from error
        return q

    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Take in the ``cost`` in [0, 1] of the action played, with the ``probability`` q[action], or InputError."""
        if self._turn is None:
            raise InputError(f"{self._round()} has not begun: call act(row), then learn once")
        played_row, q = self._turn
        if (type(row) is not int or row != played_row) and index("row", row, None) != played_row:
            raise InputError(f"{self._round()} was played on row {played_row}, got row {row}; learn for the same")
        if type(action) is not int or not 0 <= action < self.n_actions:
            action = index("action", action, self.n_actions)
        if type(cost) is not float or not 0.0 <= cost <= 1.0:
            cost = unit_cost(f"the cost of action {action} in round {self.played + 1}", cost)
        if type(probability) is not float or probability != q[action] or probability <= 0.0:
            probability = check_returned(f"action {action} of {self._round()}", probability, q[action])
        self._turn = None  # an error from here on ends the round, and it counts as not played
        estimate, weight = self._learn(played_row, action, cost, probability), None
        if estimate is None:
            estimate, weight = cost / probability, 1.0 / probability
        elif not 0.0 <= estimate < np.inf:
            raise InputError(f"{type(self).__name__}._learn must return an estimate >= 0, got {shown(estimate)}")
        begun = self._before if self.late else self.played
        self.ledger.add(played_row, action, cost, estimate, begun=begun, weight=weight)
        self.late, self.note = False, None
        self.played += 1

    def give_up(self, *, played: bool = False) -> None:
        """Give up the round that ``act`` began: it does not count, whether or not its action was ``played``.

        Giving up must not depend on the cost, and on the action only where q is the law of the rounds that are learnt.
        """
        self._end_round("give_up")
        (self._lose if played else self._give_up)()
        self.note = None

    def override(self, action: int) -> None:
        """End the round that ``act`` began, unlearnt: somebody else played ``action``, -1 for none; see ``pay``."""
        self._override(self._end_round("override"), action)
        self.note = None

    def pay(self, cost: float) -> None:
        """Take in the ``cost`` in [0, 1] of a round that was overridden, at any time."""
        cost = unit_cost("the cost", cost)
        self.ledger.pay(cost)
        self._pay(cost)

    def learn_all(self, row: int, costs: Floats) -> None:
        """Take in all K costs of the round learnt last; only learners with ``full_information`` are shown them."""
        if not self.full_information:
            raise InputError(f"{type(self).__name__} learns from the played action only: call learn, not learn_all")
        if self._turn is not None or not self.played:
            raise InputError(f"{self._round()}: call act(row), learn(...) and then learn_all(row, costs)")
        shown_costs = number_array("costs", costs)
        if shown_costs.shape != (self.n_actions,):
            raise InputError(f"costs must be one per action, ({self.n_actions},), got shape {shown_costs.shape}")
        for action, cost in enumerate(shown_costs.tolist()):
            unit_cost(f"the cost of action {action} in round {self.played}", cost)
        self._learn_all(index("row", row, None if self.oracle is None else self.oracle.n_contexts), shown_costs)

    def set_aside(self) -> Aside:
        """Put the round that has begun aside, for ``take_up``; raises InputError unless the learner is ``delayed``."""
        if not self.delayed:
            raise InputError(f"{type(self).__name__} learns each round at once; call {DUE} before the next")
        if self._turn is None:
            raise InputError(f"{self._round()} has not begun: call act(row), then set_aside()")
        made = Aside(*self._turn, self.played, self.note)
        self._turn = self.note = None
        self._aside += 1
        return made

    def take_up(self, aside: Aside) -> None:
        """Continue a round that was put aside: ``learn`` is due; raises InputError in another round, or for none."""
        if self._turn is not None or not self._aside:
            raise InputError(f"{type(self).__name__} cannot take up a round: none is aside, or {DUE} is due")
        self._turn, self.late, self.note = (aside.row, aside.q), self.played > aside.played, aside.note
        self._before = aside.played
        self._aside -= 1

    def take_over(self, row: int, q: list[float], begun: int = 0) -> None:
        """Begin a round that another learner, made alike, played with ``q`` (K,) after ``begun`` rounds."""
        if not self.delayed or self._turn is not None:
            raise InputError(f"{type(self).__name__} cannot take over a round: it takes rounds in order")
        self._check_horizon()
        self._turn, self.late, self._before = (row, q), True, begun

    def go_on(self, before: Self) -> None:
        """Continue from a learner of fewer actions, in whose rounds the others count as action 0, or InputError."""
        self._go_on(before)
        self.played, self._aside = before.played, before._aside
        self.ledger.go_on(before.ledger, range(before.n_actions, self.n_actions))

    def state(self) -> dict[str, Any]:
        """Return everything that ``restore`` needs to go on bit-identically, as plain data (JSON-able)."""
        turn = None if self._turn is None else [*self._turn, self.late, self.note, self._before]
        if self.kept is None:
            kept = "set kept = (...), the names of the attributes that change from round to round"
            raise InputError(f"learner {type(self).__name__} does not name its state: {kept}")
        base = {"learner": type(self).__name__, "played": self.played, "turn": turn, "aside": self._aside}
        return {**base, "ledger": self.ledger.state(), **state_of(self, self.kept)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the ``state`` of a learner made alike; other data raise InputError, and change nothing."""
        name, before = type(self).__name__, self.state()
        if not isinstance(state, Mapping) or state.get("learner") != name:
            raise InputError(f"restore needs what state() of a {name} returned, got {shown(state)}")
        try:
            self._go_to(state)
            if json.dumps(self.state(), sort_keys=True) != json.dumps(state, sort_keys=True):
                raise InputError("it does not fit this one's tables")  # noqa: TRY301 - like all that goes wrong here
        except BaseException as error:
            self._go_to(before)
            if isinstance(error, (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)):
                reason = error if isinstance(error, InputError) else repr(error)
                raise InputError(f"this is no state of a {name} made with the same arguments: {reason}") from error
            raise

    def _go_to(self, state: Mapping[str, Any]) -> None:
        self.played, turn = whole("played", state["played"], 0), state["turn"]
        if self.horizon is not None and self.played > self.horizon:
            raise InputError(f"the state is of {self.played} rounds, more than the horizon of {self.horizon}")
        row, q, late, self.note, before = turn or (-1, None, False, None, 0)
        self._turn = None if q is None else (row, probabilities(np.array(q, dtype=float), self.n_actions))
        self.late, self._before = bool(late), whole("begun", before, 0)
        self._aside = whole("aside", state["aside"], 0)
        self.ledger.restore(state["ledger"])
        self._restore(dict(state))

    def _end_round(self, call: str) -> int:
        if self._turn is None:
            raise InputError(f"{self._round()} has not begun: {call}() comes after act(row)")
        row, self._turn, self.late = self._turn[0], None, False
        return row

    def _check_horizon(self) -> None:
        if self.horizon is not None and self.played + self._aside >= self.horizon:
            raise InputError(f"{self._round()} is past the horizon of {self.horizon}; make one with a longer horizon")

    def _round(self) -> str:
        return f"round {self.played + 1} of {type(self).__name__}"

    def __repr__(self) -> str:
        horizon = "" if self.horizon is None else f" of {self.horizon}"
        return f"<{type(self).__name__}: {self.n_actions} actions, {self.played}{horizon} rounds played>"

    def guarantee(self) -> float:
        """Return the bound on expected regret that holds for this configuration; infinite where there is none."""
        return np.inf

    def oracle_error(self) -> float:
        """Return the regret that inexact answers may have added so far, to add to the guarantee; 0 with exact ones."""
        return 0.0

    def bound(self, confidence: float | None = None) -> float:
        """Return a bound on mean regret so far, by the algorithm's analysis of this run; NaN where it has none.

        With a ``confidence`` it is at least ``certificate(confidence=confidence)``, and holds as that does.
        """
        del confidence
        return np.nan

    def certificate(
        self, oracle: Minimiser | None = None, *, confidence: float | None = None, changes: int | None = None
    ) -> float:
        """Return the universal certificate of the rounds so far: a random number whose mean bounds mean regret.

        It holds for costs that do not react to the play, after a number of rounds that was fixed before looking. With a
        ``confidence`` such as 0.95 it is about this very run, after any of all rounds, and costs may react to all
        rounds before their own; each round whose cost is not known yet adds 1 to it. With ``changes`` it is against
        the best sequence of policies that changes that often at most: see ``changes``.

        ``oracle`` names the policies to compare with, opened on the contexts of the play; None takes the learner's own.
        It is queried once, with a confidence once for each stake of milpcb.bets. Raises InputError where a learner has
        no oracle, and with a confidence where the number of policies is not known beforehand.
        """
        sure = None if confidence is None else check_confidence(confidence)
        if changes is not None:
            most = whole("changes", changes, 0) + 1
            return self.ledger.cost - self.ledger.in_turn(self._compared(oracle), most, sure)[-1].total
        return self.certify(oracle).value if sure is None else self.ledger.confident(self._compared(oracle), sure)

    def changes(self, oracle: Minimiser | None = None, *, confidence: float | None = None, most: int = 9) -> Changes:
        """Return certificates against the best sequence of policies with 0, 1, ..., ``most`` changes; print it.

        Policies change at the ends of the blocks of milpcb.blocks. With a ``confidence`` all certificates hold at once,
        and so does the proof of a change, where there is one (statements 20 to 22 of milpcb/theory/changes.md). It
        takes n (n + 1) / 2 minima of n blocks, with a confidence twice as many for each stake.
        """
        sure = None if confidence is None else check_confidence(confidence)
        return self.ledger.changes(self._compared(oracle), whole("most", most, 0) + 1, sure)

    def certificate_error(self, oracle: Minimiser | None = None) -> float:
        """Return the standard error of ``certificate()``, by one minimisation; NaN where no policy is found."""
        return self.certify(oracle).error

    def certify(self, oracle: Minimiser | None = None) -> Certificate:
        """Return ``certificate()``, ``certificate_error()`` and ``policy()`` by one minimisation."""
        return self.ledger.certify(self._compared(oracle))

    def judged(self, oracle: Minimiser) -> Floats:
        """Return the sums of estimates (m, K) by which ``policy()`` is the best: mostly over all rounds."""
        return self.ledger.totals(oracle.n_contexts, oracle.n_actions)

    def policy(self, oracle: Minimiser | None = None) -> FoundPolicy:
        """Return the policy of least total estimate; raises as ``certificate``, OracleInexact if none is found."""
        best = self.certify(oracle).policy
        if best is None:
            raise OracleInexact("the oracle found no policy in its time; give it more")
        return best

    def _compared(self, oracle: Minimiser | None) -> Minimiser:
        asked = self.oracle if oracle is None else oracle
        if asked is None:
            raise InputError(
                f"{type(self).__name__} has no oracle, so the policies to compare with are not known; "
                "hand in an oracle that is opened on the contexts of the play, as in certificate(oracle)"
            )
        return asked
