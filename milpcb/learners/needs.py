"""What a learner may ask of an oracle, by name; a missing capability is one clear error before anything runs."""

from __future__ import annotations

from typing import Any

from milpcb.errors import InputError

# capability -> what to write in the config for an oracle that has it
REMEDY = {
    "value": "any kind",
    "minimise": "any kind",
    "profile": "any kind",
    "action_weights": '{ kind = "search" } where the class factorises, or { kind = "enumeration" } where it can be listed',
    "enumerate": '{ kind = "enumeration" }',
}


def require(learner: str, oracle: Any, *capabilities: str) -> None:
    """Raise InputError unless the oracle can do all of them."""
    for capability in capabilities:
        if capability not in oracle.can:
            raise InputError(
                f"{learner} asks its oracle to '{capability}', which this one cannot; set oracle = {REMEDY[capability]}"
            )
