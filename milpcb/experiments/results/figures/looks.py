"""Colour, dash and marker of each learner: the same in all figures of a study, and mostly from study to study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from zlib import crc32

# Okabe & Ito's colours without yellow, which is too pale for a line, and one brown. Dashes and markers distinguish
# curves in greyscale; 8 and 15 have no common factor, so the first 8 x 15 looks all differ in colour or marker.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C5A2B")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "H", "8")
# Places of learners that are often compared, the first 8 in 8 colours; new names go to the end, so that no look
# changes.
PLACES = (
    *("bistro_plus", "exp4", "ftpl", "hedge", "epsilon_greedy", "ilovetoconbandits", "uniform", "epoch_greedy"),
    *("best_in_hindsight", "exp4p", "randomized_ucb", "policy_elimination", "explore_then_commit", "doubling"),
)
N_LOOKS = len(COLOURS) * len(MARKERS)


@dataclass(frozen=True)
class Look:
    """Colour, dash and marker, as matplotlib takes them."""

    colour: str
    dash: Any
    marker: str

    def line(self) -> dict[str, Any]:
        """Return the keywords of a line with its markers."""
        return {"color": self.colour, "linestyle": self.dash, **self.points()}

    def points(self) -> dict[str, Any]:
        """Return the keywords of filled markers; a star needs more room than other markers."""
        size = 9 if self.marker == "*" else 6
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.6}
        return {"color": self.colour, "marker": self.marker, "markersize": size, **edge}


def looks(learners: Collection[str]) -> dict[str, Look]:
    """Return colour, dash and marker by the labels of a study's learners, no two alike up to 120 learners.

    A name of the table above has those of its place. Another label starts at the place that its hash gives, and takes
    the next one that no other learner of the study has, of a colour that the fewest have.
    """
    places = {label: PLACES.index(label) for label in learners if label in PLACES}
    for label in sorted(set(learners) - set(PLACES)):
        places[label] = _free_place(crc32(label.encode()), places.values())
    return {label: _look(places[label]) for label in learners}


def _free_place(start: int, taken: Collection[int]) -> int:
    uses = Counter(place % len(COLOURS) for place in taken)
    around = [(start + step) % N_LOOKS for step in range(N_LOOKS)]
    free = [place for place in around if place not in taken] or around
    return min(free, key=lambda place: uses[place % len(COLOURS)])


def _look(place: int) -> Look:
    return Look(COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)])
