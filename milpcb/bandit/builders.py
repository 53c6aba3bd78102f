"""Builds the parts of a bandit from its settings: baseline, oracle, learner, known contexts, rounds of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.bandit.contexts import Context, ContextReader
from milpcb.bandit.sums import Scale
from milpcb.constraints import LabelConstraint, NamedConstraint, bind_to
from milpcb.contexts import FinitePool
from milpcb.data.actions import place, played
from milpcb.errors import InputError, shown
from milpcb.plugins import injection, registry
from milpcb.protocols import PolicyClass
from milpcb.types import Floats

if TYPE_CHECKING:
    from milpcb.learners.base import Learner
    from milpcb.offline import Log


def as_document(given: Any, names: Sequence[Any]) -> dict[str, Any]:
    """Return an action, or a policy of milpcb, as plain data; raises UnknownNameError on anything else."""
    if hasattr(given, "document") and hasattr(given, "predict"):
        return {"policy": given.document()}
    what = "baseline, which is an action, or a policy as milpcb.policies.from_json reads it:"
    return {"action": place(what, given, list(map(str, names)))}


def baseline(document: Mapping[str, Any], reader: ContextReader) -> Callable[[Context], int]:
    """Return the baseline of ``as_document`` as a function from a context to the number of its action."""
    if "action" in document:
        action = int(document["action"])
        return lambda _context: action
    policy = registry.load("policy", str(document["policy"]["class"])).from_document(document["policy"])
    by_name, names = bool(reader.names and policy.names.features), list(map(str, reader.actions))
    if by_name:
        _check_read(policy, reader.names)

    def plays(context: Context) -> int:
        row = dict(zip(reader.names, context.features, strict=True)) if by_name else context.features
        return int(played(policy, [row], names)[0])

    return plays


def _check_read(policy: Any, names: Sequence[str]) -> None:
    read, cuts = policy.names.features, policy.cut_points() if hasattr(policy, "cut_points") else None
    if cuts is not None:  # else it cannot be written as tests, and may read all
        columns = [column.name for column in policy.names.columns] or read
        read = [columns[i] for i in cuts]
    if missing := [name for name in dict.fromkeys(read) if name not in names]:
        raise InputError(
            f"the baseline reads {', '.join(map(shown, missing))}, no feature of the class: add to its feature_names, "
            "with [] as cut points where rules need not test it"
        )


def with_action(policies: PolicyClass, name: Any) -> PolicyClass:
    """Return the class with a further action, the last one; raises InputError where it allows none."""
    own: set[str] = {part.name for part in fields(policies)} if is_dataclass(policies) else set()
    if "n_actions" not in own:
        raise InputError(f"a {type(policies).__name__} cannot have another action: it has no n_actions to be raised")
    names, next_one = list(getattr(policies, "action_names", None) or ()), policies.n_actions
    new = isinstance(name, str) and name.strip() and name not in names if names else str(name) == str(next_one)
    if not new:
        wanted = "a name that no action has" if names else f"the next number, {next_one}, as actions have no names"
        raise InputError(f"add_action takes {wanted}, got {shown(name)}")
    changed, named = cast("Any", policies), {"action_names": [*names, name]} if names else {}
    return cast("PolicyClass", replace(changed, n_actions=next_one + 1, **named))


def known(
    contexts: Any, reader: ContextReader, constraints: Sequence[NamedConstraint]
) -> tuple[Floats, list[LabelConstraint]]:
    """Return contexts known in advance (None: none) as numbers (m, d), and constraints on them; raises InputError."""
    if contexts is None:
        for rule in constraints:
            if rule.by_row:
                raise InputError(f"{rule.by_row} of a constraint is by rows, and contexts arrive: give contexts=...")
        return np.empty((0, 0)), []
    if reader.declared:
        rows = reader.read_all(contexts)
        if not rows:
            raise InputError("contexts must be a table of at least one row; leave it out where contexts arrive")
        numbers = np.vstack([context.numbers for context in rows])
    else:
        numbers = reader.policies.read(contexts)
    return numbers, bind_to(constraints, contexts, reader.names, reader.actions)


def learner(settings: Mapping[str, Any], oracle: Any, constrained: bool, usual: Callable[[int], int] | None) -> Learner:
    """Return the learner of a bandit's settings, around a baseline if there is one; raises InputError."""
    name, options = settings["learner"], settings["options"]
    cls = registry.load("learner", name)
    if cls.full_information or injection.asks(cls, "best"):
        raise InputError(f"learner '{name}' learns from the costs of all actions, not known here: take 'exp4'")
    if constrained and not cls.plays_policies:
        raise InputError(f"learner '{name}' explores, so it cannot keep constraints; take 'exp4', or 'ftpl'")
    supplied = {"seed": settings["seed"], "horizon": settings["horizon"]}
    supplied |= {"oracle": oracle, "n_actions": oracle.n_actions}
    if not settings["arrive"]:
        supplied |= {"contexts": oracle.contexts, "pool": FinitePool(oracle.contexts)}
    elif injection.asks(cls, "pool") or injection.asks(cls, "contexts"):
        raise InputError(f"learner '{name}' needs to know contexts: give Bandit the contexts that can occur")
    if usual is not None:
        name, options = "conservative", {"inner": name, "options": options, "baseline": usual, **settings["promise"]}
    return cast("Learner", injection.make(registry.load("learner", name), supplied, options))


def logged_rounds(log: Log, names: Sequence[Any], scale: Scale) -> Iterator[tuple[int, float, list[float]]]:
    """Yield action, cost and probabilities (0: unknown) of each row of a log; raises InputError, UnknownNameError."""
    if not all(hasattr(log, part) for part in ("features", "action", "outcome", "propensity", "shares")):
        raise InputError(f"from_log takes a log as milpcb.offline.read_log makes it, got {shown(log)}")
    if log.propensity is None or log.shares:
        raise InputError("from_log needs known chances of actions, as in read_log(..., propensity=...), not estimates")
    numbers = [place("action of the log", name, list(map(str, names))) for name in log.actions]
    for row, (action, outcome, chances) in enumerate(zip(log.action, log.outcome, log.propensity, strict=True)):
        law = np.zeros(len(names))
        law[numbers] = np.nan_to_num(chances)
        try:
            cost = scale.paid(*((None, float(outcome)) if log.maximise else (float(outcome), None)))
        except InputError as error:
            raise InputError(f"row {row} of the log: {error}") from error
        yield numbers[action], cost, law.tolist()
