"""Bandit: a learner that makes one decision at a time, and learns the cost of each later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milpcb.bandit import made, saved
from milpcb.bandit.baseline import as_document
from milpcb.bandit.contexts import Context, ContextReader
from milpcb.bandit.decisions import Decision
from milpcb.bandit.events import Event, send
from milpcb.bandit.locks import watch
from milpcb.bandit.made import constant
from milpcb.bandit.rewards import UNIT, cost_of
from milpcb.bandit.rounds import DecisionRounds
from milpcb.bandit.statement import in_words, sentences
from milpcb.core import files, gate
from milpcb.core.checks import check_confidence, check_range
from milpcb.errors import InputError, MilpcbError, shown
from milpcb.named_constraints import NamedConstraint, as_documents, check_actions, listed, of_document
from milpcb.protocols import FoundPolicy, PolicyClass
from milpcb.types import Floats

if TYPE_CHECKING:
    from milpcb.offline import Log


class Bandit:
    """A learner that is asked for one decision at a time, and later handed what it cost.

    Contexts need not be known in advance: each is added when it first comes, and what is kept grows with the number of
    contexts that lie between different cut points, not with the number of decisions. ``certificate()`` bounds the mean
    regret of the decisions learnt so far although the costs of the other actions are never known (see
    Learner.certificate).

    Costs may arrive late and in any order where the learner is ``delayed`` (``exp4`` and ``uniform``); with the others
    each decision must be learnt before the next. A delay leaves ``certificate()`` and ``bound()`` valid for what has
    been learnt; ``guarantee()`` is for costs that are learnt at once. Decisions that are never learnt count on neither
    side, so whether a cost becomes known must depend neither on that cost nor on the action: if half of the costs of
    one action never arrive, the certificate may be below the regret of the decisions learnt.

    **Constraints.** With ``contexts`` they hold on these, each row counting once: every policy that is played keeps
    them there, and so does ``policy()``; certificate, bound and guarantee are against the policies that do. Where
    contexts arrive they hold on those of the decisions so far, which the policies played keep up to the last renewal:
    when there are a tenth more decisions, and at once where a guard-rail forbids more. ``policy()`` and
    ``certificate()`` go by all of them. Which policies are allowed then changes on the way, so there is no bound and no
    guarantee, but the certificate stays one: it is against the best of the policies that keep the constraints on all
    contexts so far. Guard-rails (``never``, ``always``) hold for each single decision. Of a share or a mean it is the
    policies that keep it, not the actions drawn: these keep it up to chance where contexts follow one law, and need not
    where new kinds of contexts come again and again. Only learners whose play is a mix of policies can keep
    constraints: ``exp4`` and ``ftpl``.

    All methods may be called from several threads: one lock makes them take turns. A process that is forked goes on
    with a bandit of its own; a copy and a pickle are bandits of their own too, without ``on_event``. What is drawn
    follows from ``seed`` and, once a bandit was loaded, copied or forked, from the random name of its session: so no
    two of them draw alike, and certificates hold for each even where its costs react to what another does.

    Parameters
    ----------
    policies : the policy class; for contexts that are not known in advance with explicit cut points
    learner : name of a registered learner, such as "exp4" or "ftpl"
    seed : of everything that is drawn
    horizon : number of decisions, for learners that need to know it
    contexts : all contexts that can occur (m, d), None where they arrive
    oracle : kind of the oracle, or its options, as in ``{"kind": "milp", "solver": "highs"}``
    reward_range : least and greatest reward, where rewards are learnt; the cost is (greatest - reward) / (greatest -
        least). Where it is None rewards lie in [0, 1], and the first one that is learnt makes it (0, 1)
    keep_log : whether the decisions learnt are kept, for ``log()``; memory then grows with their number
    constraints : what policies must keep, by the names of actions and features: milpcb.share_at_most, mean_at_most,
        parity, never, always. A context by names may have more than the features for them
    values : of features that hold strings, or may be missing: the strings, and None for missing, as in
        ``{"region": ["north", "south"], "income": [None]}``. Rules then test them as those of estimators do; a string
        that is not among them is like any other. Strings that constraints read are declared here too
    on_event : is handed an Event for each decision and each cost, in the thread that made the call, after the lock is
        free. What it raises is logged, and changes nothing. It is not saved
    baseline : what is done today, an action or a policy of milpcb: with probability ``confidence``, at every moment,
        all decisions so far cost at most (1 + ``loss``) times what it would have; see milpcb.learners.Conservative.
        Decisions whose cost is not learnt yet count as if they cost 1
    loss, confidence : those of the baseline
    options : those of the learner, as ``rate="certified"`` of "exp4"; ``milpcb list exp4`` explains them

    Raises
    ------
    InputError, UnknownNameError (learner, oracle, options), and what opening the oracle raises

    """

    lock: Any  # of all that may change; see milpcb.bandit.locks
    _on_event: Callable[[Event], object] | None
    _rewards: Sequence[float] | None

    def __init__(
        self,
        policies: PolicyClass,
        learner: str = "exp4",
        *,
        seed: int = 0,
        horizon: int | None = None,
        contexts: Any = None,
        oracle: str | Mapping[str, Any] = "search",
        reward_range: tuple[float, float] | None = None,
        keep_log: bool = False,
        constraints: NamedConstraint | Sequence[NamedConstraint] = (),
        values: Mapping[str, Sequence[Any]] | None = None,
        on_event: Callable[[Event], object] | None = None,
        baseline: Any = None,
        loss: float = 0.02,
        confidence: float = 0.95,
        **options: Any,
    ) -> None:
        if not isinstance(policies, PolicyClass):
            raise InputError(
                f"policies must be a policy class, as in DecisionTrees(n_actions=3), got {shown(policies)}"
            )
        if not isinstance(oracle, (str, Mapping)):
            raise InputError(f"oracle must be a kind, such as 'search', or a table of its options, got {shown(oracle)}")
        if on_event is not None and not callable(on_event):
            raise InputError(f"on_event must be a function that takes an Event, got {shown(on_event)}")
        kind = {"kind": oracle} if isinstance(oracle, str) else dict(oracle)
        settings = {"learner": learner, "seed": seed, "horizon": horizon, "oracle": kind, "options": options}
        today = None
        if baseline is not None:
            document = as_document(baseline, made.action_names(policies))
            today = {"is": document, "loss": loss, "confidence": confidence}
        settings |= {"keep_log": keep_log, "baseline": today}
        self._set_up(policies, settings, reward_range, values, listed(constraints))
        self._on_event = on_event
        if contexts is None:
            self._begin((None, ()))
        else:
            self._begin(made.known(contexts, self._reader, self._constraints, self._names))

    def __repr__(self) -> str:
        learner = self._rounds.learner
        return f"<Bandit: {learner!r}, {learner.played} decisions learnt, {len(self._rounds.book.open)} open>"

    # ----------------------------------------------------------------- decisions

    def act(self, context: Any = None, *, available: Any = None) -> Decision:
        """Return the decision for one context: (d,) values, a mapping by feature names, or a data frame of one row.

        A class without features, of ``thresholds=[]``, needs no context. Of the actions only those are played that are
        ``available``, all that are not retired where it is None: a list of actions, or a mask of booleans, in the order
        of the class or by name. A policy whose action is not available plays the first that is, in the order of the
        class: against such policies are certificate, bound and guarantee.

        Raises InputError on a context that cannot be read, or is unknown where contexts were given in advance, and
        InfeasibleError where no policy keeps the constraints any more; no decision is made then.
        """
        (decision,) = self._act([self._reader.read(constant(context) if self._featureless else context)], available)
        return decision

    def act_all(self, table: Any, *, available: Any = None) -> list[Decision]:
        """Return a decision for each row of a data frame, an array (n, d), or a list of contexts; see ``act``.

        What is ``available`` is so for all rows, or is given row by row: a list of lists, or a table of booleans
        (n, K), as a data frame by name. For learners that take costs late. Raises what ``act`` raises; then no decision
        is made for any of the rows.
        """
        rows = [constant(context) for context in table] if self._featureless else table
        return self._act(self._reader.read_all(rows), available)

    def retire(self, action: str | int) -> None:
        """Make an action unavailable from now on: for one that ends, or, called at once, one that is to come later.

        Raises UnknownNameError, and InputError where no action would be left.
        """
        with self.lock:
            self._rounds.availability.retire(action)

    def readmit(self, action: str | int) -> None:
        """Make a retired action available again; raises UnknownNameError."""
        with self.lock:
            self._rounds.availability.readmit(action)

    def learn(self, decision: Decision | str, *, cost: Any = None, reward: Any = None) -> None:
        """Take in what a decision cost, in [0, 1], or the reward earned, within ``reward_range``; each decision once.

        ``decision`` is the decision, its id, or what it was stored as. After a crash, one that was made after the file
        was saved is taken if it is handed in whole and the learner takes costs late. Raises
        InputError on anything else; nothing is learnt then. Where the learner itself fails, as by OracleInexact if an
        oracle is stopped before its proof, the decision is given up.
        """
        with self.lock:
            paid = cost_of(cost, reward, self._rewards)
            known = self._rounds.learn(decision, paid)
            if reward is not None:
                self._rewards = self._rewards or UNIT
            made = known.decision
            if self._log is not None:
                action = self._names.index(made.action)
                self._log.append([list(made.context), action, paid, list(made.probabilities)])
            learnt = self._rounds.learner.played
        if self._on_event is not None:
            send(self._on_event, [Event("cost", made, paid, learnt)])

    def give_up(self, decision: Any = None, *, older_than: timedelta | None = None) -> int:
        """Give up a decision whose cost will never be known, or all open ones made ``older_than`` ago or before.

        A decision is given as ``learn`` takes it; the age is a ``datetime.timedelta``. Returns how many are given up.
        Nothing is learnt of them, they are open no longer, and learners that take costs in order go on.

        Certificates, bounds and guarantees are over the decisions learnt. They hold if whether a decision is given up
        depends neither on what it cost nor on its action: an outcome that comes just when it is good makes them wrong,
        and so does giving up those alone that an action brings to nothing. By age it depends on neither, as long as
        outcomes of all actions come within that time. The promise of a baseline is over all decisions: one that is
        given up counts as if it had cost 1, but where the baseline alone decided. Its context stays in constraints.

        Raises InputError on what ``learn`` refuses, and unless one of the two is given.
        """
        if (decision is None) == (older_than is None):
            raise InputError(
                "give up a decision, or those older_than=..., as in give_up(older_than=timedelta(days=30))"
            )
        if older_than is not None and not (isinstance(older_than, timedelta) and older_than >= timedelta(0)):
            raise InputError(f"older_than must be a timedelta, such as timedelta(days=30), got {shown(older_than)}")
        with self.lock:
            book = self._rounds.book
            lost = [decision] if older_than is None else [known.decision for known in book.older(older_than)]
            for each in lost:
                self._rounds.give_up(each)
        return len(lost)

    # ----------------------------------------------------------------- what can be asked

    def policy(self) -> FoundPolicy:
        """Return the best policy so far: of least total estimated cost; see Learner.policy."""
        with self.lock:
            best: FoundPolicy = self._reader.show(self._rounds.learner.policy(self._rounds.allowed()))
            return best

    def certificate(self, *, confidence: float | None = None) -> float:
        """Return a number whose mean bounds the mean regret of the decisions learnt so far; see Learner.certificate.

        With a ``confidence`` such as 0.95, a number that the regret of this very bandit stays at or below, at all times
        at once, with that chance. Costs may then react to decisions before their own; learnt late, they may not.
        """
        with self.lock:
            return self._rounds.learner.certificate(self._rounds.allowed(), confidence=confidence)

    def certificate_error(self) -> float:
        """Return the standard error of ``certificate()``."""
        with self.lock:
            return self._rounds.learner.certificate_error(self._rounds.allowed())

    def guarantee(self) -> float:
        """Return the bound on expected regret after ``horizon`` decisions that are learnt at once; see Learner.

        Infinite where the learner has none, and under constraints on contexts that arrive. Learners that must know the
        law of contexts (``bistro_plus``, ``policy_elimination``) take it to be even over the rows of ``contexts``:
        theirs is for contexts drawn like that.
        """
        with self.lock:
            return np.inf if self._rounds.changing else self._rounds.learner.guarantee()

    def bound(self, confidence: float | None = None) -> float:
        """Return a bound on mean regret so far that the algorithm's analysis gives of this run; see Learner.bound.

        NaN where the learner has none, and under constraints on contexts that arrive.
        """
        with self.lock:
            return np.nan if self._rounds.changing else self._rounds.learner.bound(confidence)

    def statement(self, confidence: float = 0.95) -> str:
        """Return in sentences what can be stated of this very bandit, for people who need not know how it learns.

        What was paid; how much more, at most, that is than the best policy of the class would have paid; with a
        baseline the promise that is kept, and what the baseline would have cost at least. Rewards are stated as
        rewards. Raises what ``certificate`` raises.
        """
        confidence = check_confidence(confidence)
        with self.lock:
            rounds = self._rounds
            most = rounds.learner.certificate(rounds.allowed(), confidence=confidence) if rounds.learner.played else 0.0
            compared = in_words(self._policies, constrained=bool(self._constraints))
            n_open = len(rounds.book.open)
            return sentences(rounds.learner, most, confidence, self._settings, self._rewards, compared, n_open)

    def log(self) -> Log:
        """Return the decisions learnt, in that order, with their costs in [0, 1] and the probability of every action.

        It is what milpcb.offline reads. Learners that draw within ``act``, such as ``ftpl``, leave nobody a probability
        that estimates could be weighed by: the log of theirs has none, and milpcb.offline estimates it. An action
        that was not available, or had no chance, has the probability 0 in its row: there the method "ips" counts it as
        0, and knows of no replacement. Raises InputError unless the bandit was made with ``keep_log=True``, and while
        some action has never been played.
        """
        from milpcb.offline import read_log  # it needs more than a service does

        with self.lock:
            if not self._log:
                reason = "no decision is learnt yet" if self._log == [] else "the bandit was made without keep_log=True"
                raise InputError(f"there is no log: {reason}")
            features, played, costs, chances = zip(*self._log, strict=True)
            law = None if self._rounds.learner.hides_law else np.array(chances)
        taken = [self._names[action] for action in played]
        table = np.array(features, dtype=object if self._reader.declared else float)
        return read_log(table, taken, cost=costs, propensity=law, actions=self._names)

    # ----------------------------------------------------------------- files and copies

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, from which ``load`` goes on, with draws of its own; replaces an old one.

        Readers see the old file or the new one, whole, whatever threads and processes save at the same time; while it
        is written, decisions are made. The file holds the key by which decisions are recognised: who reads it can forge
        them. Raises InputError where it cannot be written, as where the path is that of a pipe, a device or a link, and
        where it would be larger than ``load`` reads (1 GB).
        """
        with self._saving:  # files replace each other in the order of their states, and nobody waits for the disk
            saved.write(Path(path), self._content())

    @classmethod
    def load(cls, path: str | Path, policies: PolicyClass | None = None) -> Self:
        """Return the bandit that ``save`` wrote; ``policies`` for your own class, which the file does not describe.

        Raises InputError on any other file, on one that was damaged, and on one that names what is not registered: a
        file of somebody else's runs no code.
        """
        state = saved.read(Path(path))
        try:
            with gate.registered_only(f"the file {path}"):
                bandit = cls.__new__(cls)
                bandit.__setstate__((policies or saved.written_class(state["policies"]), state))
                return bandit
        except MilpcbError as error:
            raise InputError(f"{path} is no file that Bandit.save wrote: {error}") from error
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InputError(f"{path} is no file that Bandit.save wrote: {error!r}") from error

    def forked(self) -> None:
        """Go on in a child process: decisions of parent and child have ids and draws of their own."""
        self._saving = Lock()
        self._rounds.part()

    # ----------------------------------------------------------------- making

    def _set_up(
        self,
        policies: PolicyClass,
        settings: dict[str, Any],
        reward_range: Any,
        values: Any,
        constraints: list[NamedConstraint],
    ) -> None:
        self._saving = Lock()
        self._on_event = None
        self._policies, self._settings, self._constraints = policies, settings, constraints
        self._rewards = None if reward_range is None else check_range("reward_range", reward_range)
        self._featureless = made.featureless(policies)
        self._reader = ContextReader(made.with_constant(policies), values)
        self._names = made.action_names(policies)
        check_actions(constraints, self._names)
        self._log: list[list[Any]] | None = [] if settings["keep_log"] else None  # features, action, cost, q of each

    def _begin(self, known: tuple[Floats | None, Sequence[Any]]) -> None:
        """Open the oracle on known contexts (m, d) under rules, or without contexts; make the learner."""
        self._rounds = DecisionRounds(self._settings, self._reader, self._names, self._constraints, known)
        watch(self)  # not before: a fork asks for all of it

    def _content(self) -> bytes:
        with self.lock:
            state = self._state()
        try:
            return saved.sealed(state)  # which takes long where much is open, and nobody waits for it
        except TypeError as error:
            raise InputError(f"this bandit cannot be saved, as its options are no plain data: {error}") from error

    def _state(self) -> dict[str, Any]:
        return {
            "policies": saved.as_written(self._policies),
            "settings": self._settings,
            "rewards": self._rewards,
            "values": self._reader.declared,
            "constraints": as_documents(self._constraints),
            "log": None if self._log is None else list(self._log),
            **self._rounds.state(),
        }

    def __getstate__(self) -> tuple[PolicyClass, dict[str, Any]]:
        return self._policies, files.unsealed(self._content()) or {}

    def __setstate__(self, kept: tuple[PolicyClass, Mapping[str, Any]]) -> None:
        """Take up a state on a bandit that is not made; raises MilpcbError, and the errors of data of another shape."""
        policies, state = kept
        constraints = [of_document(document) for document in state["constraints"]]
        self._set_up(policies, dict(state["settings"]), state["rewards"], state["values"], constraints)
        self._begin(DecisionRounds.known(state))
        self._rounds.restore(state)
        self._log = saved.checked_log(state["log"], len(self._names))

    # ----------------------------------------------------------------- inside

    def _act(self, contexts: list[Context], available: Any) -> list[Decision]:
        with self.lock:
            found = self._rounds.act(contexts, available)
            learnt = self._rounds.learner.played
        if self._on_event is not None:
            send(self._on_event, [Event("decision", decision, None, learnt) for decision in found])
        return found
