"""Every random draw comes from a named child of one seed.

Children are independent of the order in which they are made, so adding a learner never changes another's numbers.
"""

import hashlib
import json
import operator
from bisect import bisect_right
from itertools import accumulate
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from milpcb.errors import InputError, shown

Words = npt.NDArray[np.uint64]
WEYL = 0x9E3779B97F4A7C15  # the step of splitmix64


def child(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to ``names`` under ``seed`` (a non-negative integer)."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(check_seed(seed), spawn_key=_key(names))))


def check_seed(seed: int) -> int:
    """Return ``seed`` as a plain int; raise InputError unless it is a non-negative integer."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or number < 0:
        raise InputError(f"seed must be a non-negative integer, got {shown(seed)}")
    return number


def draw_action(q: npt.NDArray[np.float64], generator: np.random.Generator) -> int:
    """Draw an action from the distribution q (K,); its sum may be off by rounding."""
    cumulative = list(accumulate(q.tolist()))
    return min(bisect_right(cumulative, generator.random() * cumulative[-1]), len(q) - 1)


def freeze(generator: np.random.Generator) -> dict[str, Any]:
    """Return the generator's state as plain data (JSON-able)."""
    return cast("dict[str, Any]", generator.bit_generator.state)


def thaw(generator: np.random.Generator, state: dict[str, Any]) -> None:
    """Put the generator back into a frozen state."""
    generator.bit_generator.state = state


def parted(state: Any, name: str) -> Any:
    """Return plain data in which each frozen generator has a new stream, independent for each ``name``."""
    if isinstance(state, list):
        return [parted(entry, name) for entry in state]
    if not isinstance(state, dict):
        return state
    if state.get("bit_generator") != "PCG64":
        return {key: parted(entry, name) for key, entry in state.items()}
    return freeze(child(int.from_bytes(hashlib.sha256(json.dumps(state).encode()).digest(), "little"), name))


def mixed(words: Words) -> Words:
    """Return the words with their bits stirred (splitmix64), so that sums of several of them differ."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def uniforms(places: Words) -> npt.NDArray[np.float64]:
    """Return numbers (n,) in [0, 1) that look random, one for each place (n,)."""
    with np.errstate(over="ignore"):
        bits = mixed(mixed(places + np.uint64(WEYL)))
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def _key(names: tuple[str | int, ...]) -> tuple[int, ...]:
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
