"""Requirements of learners: an oracle with certain capabilities, a model of contexts, contexts known from the start."""

from typing import Any, cast

from milpcb.errors import InputError, shown
from milpcb.protocols import Policy
from milpcb.types import Answer, Floats

# capability -> what to write in the config for an oracle that has it; any kind has the others
REMEDY = {
    "action_weights": (
        '{ kind = "search" } where the class factorises, or { kind = "enumeration" } where it can be listed'
    ),
    "columns": '{ kind = "search" } where the class keeps running leaf totals, or { kind = "milp" }',
    "enumerate": '{ kind = "enumeration" }',
}


def require(learner: str, oracle: Any, *capabilities: str) -> None:
    """Raise InputError unless the oracle has all capabilities that the learner needs."""
    for capability in capabilities:
        if capability not in oracle.capabilities:
            remedy = REMEDY.get(capability, "any kind")
            raise InputError(
                f"{learner} asks its oracle to '{capability}', which this one cannot; set oracle = {remedy}"
            )


def check_oracle(oracle: Any) -> None:
    """Raise InputError unless ``oracle`` is an oracle."""
    known = all(hasattr(oracle, name) for name in ("n_contexts", "n_actions", "capabilities"))
    if isinstance(oracle, type) or not known:
        raise InputError(f"oracle must be what open_oracle(policies, contexts) returns, got {shown(oracle)}")


def check_pool(pool: Any) -> None:
    """Raise InputError unless ``pool`` is a model of contexts."""
    if isinstance(pool, type) or not all(hasattr(pool, name) for name in ("attach", "observe", "future")):
        raise InputError(f"pool must be a model of the contexts, such as FinitePool(contexts), got {shown(pool)}")


def require_contexts(learner: str, oracle: Any, remedy: str = "") -> None:
    """Raise InputError where the oracle knows no context yet, for learners that count by context from the start."""
    if not oracle.n_contexts:
        raise InputError(
            f"{learner} needs to know from the start which contexts can occur: give them all, as in "
            f"Bandit(..., contexts=...){remedy or ', or take a learner for contexts that arrive, such as exp4'}"
        )


def proved_action(answer: Answer, oracle: Any, row: int) -> int:
    """Return the action of a minimiser on ``row``; raises OracleInexact unless the minimum is proved."""
    _ = answer.value  # raises; what is proved is attained by some policy
    return played_on(cast("Policy", answer.policy), oracle.contexts, row)


def played_on(policy: Policy, contexts: Floats, row: int) -> int:
    """Return the action of ``policy`` on ``contexts[row]``; policies that refuse a single context are given all."""
    action_on = getattr(policy, "action_on", None)
    if action_on is not None:
        return int(action_on(contexts[row]))
    try:
        return int(policy.predict(contexts[row : row + 1])[0])
    except InputError:
        return int(policy.predict(contexts)[row])
