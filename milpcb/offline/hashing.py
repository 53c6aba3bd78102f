"""Draws that follow from the place of a row in a log, whoever reads it, and in which order."""

import numpy as np
import numpy.typing as npt

from milpcb.types import Floats

Words = npt.NDArray[np.uint64]
WEYL = 0x9E3779B97F4A7C15  # the step of splitmix64


def mixed(words: Words) -> Words:
    """Return the words with their bits stirred (splitmix64), so that sums of several of them differ."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def uniforms(places: Words) -> Floats:
    """Return numbers (n,) in [0, 1) that look random, one for each place (n,)."""
    with np.errstate(over="ignore"):
        bits = mixed(mixed(places + np.uint64(WEYL)))
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)
