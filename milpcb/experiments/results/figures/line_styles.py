"""Colour and marker of each learner: the same in all figures of a study, and in most cases across studies."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from zlib import crc32

# Okabe & Ito's colours without yellow, with orange and sky dark enough for a line on white, and one brown. Markers
# distinguish curves in greyscale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07400", "#2F8FC4", "#000000", "#8C5A2B")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "H", "8")
# A grey, and how much of it is mixed into a colour; none is so pale that a line on white has a contrast below 3 to 1.
SHADES = ((0.0, 0.0), (0.0, 0.45), (0.45, 0.6), (0.0, 0.7))
# Registered learners that are often compared, the first 8 in 8 colours, all with markers of their own; new names go to
# the end, so that no style changes.
PLACES = (
    *("bistro_plus", "exp4", "ftpl", "hedge", "epsilon_greedy", "ilovetoconbandits", "uniform", "epoch_greedy"),
    *("best_in_hindsight", "exp4p", "randomized_ucb", "policy_elimination", "explore_then_commit", "doubling"),
)

# Titles of registered names that are no words.
DISPLAYED = {"bistro_plus": "BISTRO+", "exp4": "Exp4", "exp4p": "Exp4.P", "ftpl": "Contextual-FTPL", "hedge": "Hedge"}


@dataclass(frozen=True)
class LineStyle:
    """Colour and marker, as matplotlib takes them."""

    colour: str
    marker: str

    def line(self) -> dict[str, Any]:
        """Return the keywords of a line with its markers."""
        return {"color": self.colour, "linestyle": "-", **self.points()}

    def points(self) -> dict[str, Any]:
        """Return the keywords of filled markers; a star needs more room than other markers."""
        size = 9 if self.marker == "*" else 6
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.6}
        return {"color": self.colour, "marker": self.marker, "markersize": size, **edge}


def line_styles(learners: Collection[str], names: Mapping[str, str] = MappingProxyType({})) -> dict[str, LineStyle]:
    """Return colour and marker by the labels of a study's learners, no marker twice up to 15 learners.

    The colour is that of the registered name, in ``names`` where it is not the label; variants are shades of it.
    """
    of = {label: names.get(label, label) for label in learners}
    found: dict[str, LineStyle] = {}
    variants: Counter[str] = Counter()

    def order(label: str) -> tuple[Any, ...]:  # first those whose style is fixed, so that no other takes their markers
        name = of[label]
        return name not in PLACES, label not in (name, DISPLAYED.get(name)), name, label

    for label in sorted(of, key=order):
        name, variant = of[label], variants[of[label]]
        colours, taken = Counter(style.colour for style in found.values()), [style.marker for style in found.values()]
        known = name in PLACES
        place = PLACES.index(name) if known else min(_from(name, COLOURS), key=lambda i: colours[COLOURS[i]])
        colour = _shade(COLOURS[place % len(COLOURS)], place // len(COLOURS) + variant)
        alike = [style.marker for style in found.values() if style.colour == colour]
        free = min(_from(label, MARKERS), key=lambda i: (alike.count(MARKERS[i]), taken.count(MARKERS[i])))
        found[label] = LineStyle(colour, MARKERS[place if known and not variant else free])
        variants[name] += 1
    return {label: found[label] for label in learners}


def _from(name: str, places: Sequence[str]) -> list[int]:
    start = crc32(name.encode()) % len(places)
    return [*range(start, len(places)), *range(start)]


def _shade(colour: str, number: int) -> str:
    grey, share = SHADES[number % len(SHADES)]
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - share) * part + share * 255 * grey):02X}" for part in parts)
