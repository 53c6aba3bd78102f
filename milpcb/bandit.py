"""Decisions one by one, as a service or a simulator makes them: contexts come in, actions go out, costs come later."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from milpcb import registry, rng, supply
from milpcb.checks import check_file, check_range, real, unit_cost
from milpcb.contexts import FinitePool
from milpcb.errors import InputError, clipped, did_you_mean, shown
from milpcb.oracles import open_oracle
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import FoundPolicy, Learner, PolicyClass
from milpcb.protocols.learners import Aside

if TYPE_CHECKING:
    from milpcb.offline import Log

FORMAT = 2  # of a saved file


@dataclass(frozen=True)
class Decision:
    """What to do: ``action``, a name where the class has names, else its number; drawn with this ``probability``."""

    number: int
    action: str | int
    probability: float


@dataclass
class _Open:
    """A decision whose cost is not known yet."""

    row: int
    q: list[float]
    played: int
    action: int
    features: list[float] | None = None  # the context as it came, where the bandit keeps a log


class Bandit:
    """A learner that is asked for one decision at a time, and later handed what it cost.

    Contexts need not be known in advance: each is added when it first comes, and what is kept grows with the number of
    contexts that lie between different cut points, not with the number of decisions. ``certificate()`` bounds the mean
    regret of the decisions learnt so far although the costs of the other actions are never known (see
    Learner.certificate).

    Costs may arrive late and in any order where the learner is ``delayed`` (``exp4`` and ``uniform``); with the others
    each decision must be learnt before the next. A delay leaves ``certificate()`` and Exp4's ``bound()`` valid for what
    has been learnt; ``guarantee()`` of the learner is for costs that are learnt at once. Decisions that are never
    learnt count on neither side, so whether a cost becomes known must not depend on that cost.

    All methods may be called from several threads: one lock makes them take turns.

    Parameters
    ----------
    policies : the policy class; for contexts that are not known in advance with explicit cut points
    learner : name of a registered learner, such as "exp4" or "ftpl"
    seed : of everything that is drawn
    horizon : number of decisions, for learners that need to know it
    contexts : all contexts that can occur (m, d), None where they arrive
    oracle : kind of the oracle, or its options, as in ``{"kind": "milp", "solver": "highs"}``
    reward_range : least and greatest reward, where rewards are learnt; the cost is (greatest - reward) / (greatest -
        least)
    keep_log : whether the decisions learnt are kept, for ``log()``; memory then grows with their number
    options : those of the learner, as ``rate="certified"`` of "exp4"; ``milpcb list exp4`` explains them

    Raises
    ------
    InputError, UnknownNameError (learner, oracle, options), and what opening the oracle raises

    """

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
        **options: Any,
    ) -> None:
        self._lock = RLock()
        self._rewards = None if reward_range is None else check_range("reward_range", reward_range)
        self._policies = policies
        kind = {"kind": oracle} if isinstance(oracle, str) else dict(oracle)
        self._settings = {"learner": learner, "seed": seed, "horizon": horizon, "oracle": kind, "options": options}
        self._settings["keep_log"] = keep_log
        self._log: list[list[Any]] | None = [] if keep_log else None  # features, action, cost, q of each decision
        opened = open_oracle(policies, contexts, **kind) if contexts is not None else GrowingOracle(policies, **kind)
        self._oracle: Any = opened
        self._arrive = contexts is None
        self._learner = self._made(learner, options)
        self._rng = rng.child(seed, "actions")
        self._open: dict[int, _Open] = {}
        self._next = 0

    def __repr__(self) -> str:
        return f"<Bandit: {self._learner!r}, {self._learner.played} decisions learnt, {len(self._open)} open>"

    def act(self, context: Any) -> Decision:
        """Return the decision for one context: (d,) numbers, a mapping by feature names, or one row of a data frame.

        Raises InputError on a context of another width, or unknown where contexts were given in advance.
        """
        with self._lock:
            if self._open and not self._learner.delayed:
                raise InputError(
                    f"decision {next(iter(self._open))} is not learnt, and {type(self._learner).__name__} "
                    "takes costs in order: call learn(decision, cost=...) before the next act"
                )
            table = self._table(context)
            row = int(self._oracle.rows(table)[0])
            q = self._learner.act(row)
            action = rng.draw_action(q, self._rng)
            features = None if self._log is None else self._policies.read(table)[0].tolist()
            self._open[self._next] = _Open(row, q.tolist(), self._learner.played, action, features)
            decision = Decision(self._next, self._name(action), float(q[action]))
            if self._learner.delayed:
                self._learner.set_aside()
            self._next += 1
            return decision

    def learn(self, decision: Decision, *, cost: float | None = None, reward: float | None = None) -> None:
        """Take in what a decision cost, in [0, 1], or the reward earned, within ``reward_range``; each decision once.

        Raises InputError on anything else; nothing is learnt then.
        """
        with self._lock:
            paid = self._cost(cost, reward)
            number = decision.number if isinstance(decision, Decision) else None
            if number not in self._open:
                raise InputError(f"{shown(decision)} is not open: it was learnt already, or is another bandit's")
            known = self._open.pop(number)
            if self._learner.delayed:
                self._learner.take_up(Aside(known.row, known.q, known.played))
            self._learner.learn(known.row, known.action, paid, known.q[known.action])
            if self._log is not None:
                self._log.append([known.features, known.action, paid, known.q])

    def policy(self) -> FoundPolicy:
        """Return the best policy so far: of least total estimated cost; see Learner.policy."""
        with self._lock:
            return self._learner.policy(self._oracle)

    def certificate(self) -> float:
        """Return a number whose mean bounds the mean regret of the decisions learnt so far; see Learner.certificate."""
        with self._lock:
            return self._learner.certificate(self._oracle)

    def certificate_error(self) -> float:
        """Return the standard error of ``certificate()``."""
        with self._lock:
            return self._learner.certificate_error(self._oracle)

    def log(self) -> Log:
        """Return the decisions learnt, in that order, with their costs in [0, 1] and the probability of every action.

        It is what milpcb.offline reads. Raises InputError unless the bandit was made with ``keep_log=True``, and while
        some action has never been played.
        """
        from milpcb.offline import read_log  # it needs more than a service does

        with self._lock:
            if not self._log:
                reason = "no decision is learnt yet" if self._log == [] else "the bandit was made without keep_log=True"
                raise InputError(f"there is no log: {reason}")
            features, played, costs, chances = zip(*self._log, strict=True)
        names = [self._name(action) for action in range(self._policies.n_actions)]
        taken = [names[action] for action in played]
        return read_log(np.array(features), taken, cost=costs, propensity=np.array(chances), actions=names)

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, from which ``load`` goes on as if nothing had happened; replaces an old one.

        Raises InputError where the file cannot be written.
        """
        with self._lock:
            text = json.dumps(self._state(), allow_nan=False)
        part = Path(path).with_name(Path(path).name + ".part")
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | Path, policies: PolicyClass | None = None) -> Self:
        """Return the bandit that ``save`` wrote; ``policies`` for your own class, which the file does not describe.

        Raises InputError on any other file, and on one that names modules: a file of somebody else's runs no code.
        """
        check_file(Path(path))
        try:
            saved = json.loads(Path(path).read_text(encoding="utf-8"))
            if saved["format"] != FORMAT:
                raise InputError(f"{path} has format {saved['format']}, this version reads {FORMAT}")
            _check_registered(saved)
            given = policies or _written_class(saved["policies"])
            settings = {key: value for key, value in saved["settings"].items() if key != "options"}
            bandit = cls(
                given,
                contexts=saved["contexts"],
                reward_range=saved["rewards"],
                **settings,
                **saved["settings"]["options"],
            )
            bandit._go_on(saved)
        except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
            raise InputError(f"{path} is no file that Bandit.save wrote: {error!r}") from error
        return bandit

    def _made(self, learner: str, options: Mapping[str, Any]) -> Learner:
        made = registry.load("learner", learner)
        supplied = {name: self._settings[name] for name in ("seed", "horizon")}
        supplied |= {"oracle": self._oracle, "n_actions": self._policies.n_actions}
        if not self._arrive:
            supplied |= {"contexts": self._oracle.contexts, "pool": FinitePool(self._oracle.contexts)}
        elif supply.asks(made, "pool") or supply.asks(made, "contexts"):
            raise InputError(f"learner '{learner}' needs to know contexts: give Bandit the contexts that can occur")
        return cast("Learner", supply.make(made, supplied, options))

    def _state(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "policies": _as_written(self._policies),
            "settings": self._settings,
            "rewards": self._rewards,
            "contexts": None if self._arrive else self._oracle.contexts.tolist(),
            "seen": self._oracle.contexts.tolist() if self._arrive and self._oracle.n_contexts else None,
            "learner": self._learner.state(),
            "actions": rng.freeze(self._rng),
            "open": {number: asdict(known) for number, known in self._open.items()},
            "next": self._next,
            "log": self._log,
        }

    def _go_on(self, saved: Mapping[str, Any]) -> None:
        if saved["seen"] is not None:
            self._oracle.rows(np.array(saved["seen"]))
        self._learner.restore(saved["learner"])
        rng.thaw(self._rng, saved["actions"])
        self._open = {int(number): _Open(**known) for number, known in saved["open"].items()}
        self._next = saved["next"]
        self._log = saved["log"]

    def _table(self, context: Any) -> Any:
        """Return one context as a table of one row."""
        names = getattr(self._policies, "feature_names", None)
        if hasattr(context, "keys") and not hasattr(context, "columns"):
            if not names:
                raise InputError(
                    "a context by names needs a policy class with feature_names; give them, or a list of numbers"
                )
            for name in names:
                if name not in context:
                    raise InputError(f"the context has no feature '{name}'{did_you_mean(name, context.keys())}")
            return [[context[name] for name in names]]
        return context if hasattr(context, "columns") else [context]

    def _cost(self, cost: float | None, reward: float | None) -> float:
        if (cost is None) == (reward is None):
            raise InputError("give either cost=... or reward=..., as in learn(decision, cost=0.5)")
        if reward is None:
            return unit_cost("the cost", cost)
        if self._rewards is None:
            raise InputError(
                "to learn rewards, give the range that they lie in, as in Bandit(..., reward_range=(0, 10))"
            )
        least, most = self._rewards
        earned = real("reward", reward, f"in the range {least:g} to {most:g}", lambda number: least <= number <= most)
        return (most - earned) / (most - least)

    def _name(self, action: int) -> str | int:
        names = getattr(self._policies, "action_names", None)
        return str(names[action]) if names else action


def _as_written(policies: PolicyClass) -> dict[str, Any] | None:
    """Return a registered class by its name and settings; None for a class of somebody's own."""
    for name in registry.BUILTIN["policies"]:
        if type(policies) is registry.load("policies", name) and is_dataclass(policies):
            return {
                "name": name,
                "options": {part.name: getattr(policies, part.name) for part in fields(policies) if part.init},
            }
    return None


def _check_registered(saved: Mapping[str, Any]) -> None:
    """Raise InputError where a saved file names anything but registered parts, at whatever depth of its settings."""
    named = json.dumps([saved["settings"], saved["policies"]])
    found = re.search(r'"(?:learner|kind|name|solver)": "([^"]*:[^"]*)"', named)
    if found and not found[1].startswith("pulp:"):
        raise InputError(
            f"the file names '{clipped(found[1])}', and loading runs no code of a file; make the bandit anew"
        )


def _written_class(written: Mapping[str, Any] | None) -> PolicyClass:
    if written is None:
        raise InputError("the file is of a policy class of your own: hand it in, as in Bandit.load(path, policies=...)")
    return cast("PolicyClass", supply.make(registry.load("policies", written["name"]), {}, written["options"]))
