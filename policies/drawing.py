"""Rules as graphs: the leaves of a rule, and pictures of it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from textwrap import fill
from typing import TYPE_CHECKING, Any

from milpcb.core.surroundings import plain
from milpcb.core.text import ink
from policies.exports.decisions import Decision, Test, in_words
from policies.names import Names

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.figure import Figure

# Okabe & Ito's palette without black: distinct for colour-blind readers; ``ink`` is the colour of letters on each.
LEAF_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2")
FONT, SMALLEST = 9.0, 3.0  # points
SMALLER = 0.93  # of the font's size: the answers on edges, which are 11 pixels high then
SIGNS = {"<=": "\u2264", ">=": "\u2265"}
LETTER, LINE = 0.6, 1.25  # width of a letter and distance of lines, of the font size
LEVEL = 2.5  # lines between two levels, for the answers
WIDEST = 28  # letters of a line in a box
LARGEST = 24.0, 14.0  # inches of a figure


@dataclass(frozen=True)
class LeafSummary:
    """The action of one part of a rule, its ``share`` (0..1) of contexts, its mean cost if known, and a ``note``."""

    action: int
    name: str
    share: float
    mean_cost: float | None = None
    note: str = ""

    def lines(self, part: int) -> list[str]:
        """Return the lines of text in a drawing of part number ``part``."""
        del part
        cost = [] if self.mean_cost is None else [f"mean cost {self.mean_cost:.3g}"]
        share = f"{100 * self.share:.1f} % of contexts"
        return [f"play {self.name}", share, *cost, *([self.note] if self.note else [])]

    def __str__(self) -> str:
        cost = "" if self.mean_cost is None else f", mean cost {self.mean_cost:.3g}"
        return f"{self.name} on {100 * self.share:.1f} % of contexts{cost}{self.note and f', {self.note}'}"


def drawn(
    decision: Decision, names: Names, leaves: Sequence[LeafSummary] | None = None, *, lines: bool = False
) -> nx.DiGraph:
    """Return the graph of nested decisions, "yes" before "no"; ``lines`` draws a chain of them in numbered lines."""
    import networkx as nx

    graph, numbers, parts = nx.DiGraph(lines=lines), count(), count()

    def add(part: Decision) -> int:
        number = next(numbers)
        if isinstance(part, int):
            add_leaf(graph, number, next(parts), part, names, leaves)
            return number
        test = part.condition
        compared = {"feature": test.feature, "threshold": test.cut} if isinstance(test, Test) else {}
        graph.add_node(number, label=in_words(test, names), **compared)
        for answer, child in (("yes", part.yes), ("no", part.no)):
            graph.add_edge(number, add(child), label=answer)
        return number

    add(decision)
    return graph


def fan(
    root: str, tests: Sequence[str], actions: Sequence[int], names: Names, leaves: Sequence[LeafSummary] | None = None
) -> nx.DiGraph:
    """Return the graph of one node with a leaf for each test that may hold, one at a time."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(0, label=root)
    for part, (test, action) in enumerate(zip(tests, actions, strict=True)):
        add_leaf(graph, part + 1, part, action, names, leaves)
        graph.add_edge(0, part + 1, label=test)
    return graph


def add_leaf(
    graph: nx.DiGraph, node: int, part: int, action: int, names: Names, leaves: Sequence[LeafSummary] | None
) -> None:
    """Add the node of part number ``part``: its action, and in its label the facts of ``leaves``."""
    lines = [f"play {names.action(action)}"] if leaves is None else leaves[part].lines(part)
    graph.add_node(node, label="\n".join(lines), action=action, part=part)
    graph.graph.setdefault("actions", {})[action] = names.action(action)


@plain()
def figure(graph: nx.DiGraph) -> Figure:
    """Return a figure of the size that the graph needs, with the graph drawn on it; needs matplotlib."""
    from matplotlib.figure import Figure

    tree = _Layout(graph)
    width, height = (min(most, inches + 0.4) for most, inches in zip(LARGEST, tree.inches(FONT), strict=True))
    drawn = Figure(figsize=(max(3.0, width), max(1.0, height)))
    _draw(tree, drawn.add_axes((0.0, 0.0, 1.0, 1.0)))
    _add_legend(drawn, graph)
    return drawn


def _add_legend(drawn: Figure, graph: nx.DiGraph) -> None:
    """Write below a drawing which colour is which action, where there are several and no two share one."""
    from matplotlib.patches import Patch

    actions = dict(sorted(graph.graph.get("actions", {}).items()))
    colours = [_colour(action) for action in actions]
    if len(actions) < 2 or len(set(colours)) < len(colours):
        return
    patches = [Patch(facecolor=colour, edgecolor="0.3") for colour in colours]
    names = [fill(name, WIDEST) for name in actions.values()]
    columns = max(1, int(drawn.get_figwidth() / (max(map(_widest, names)) * LETTER * FONT / 72 + 0.6)))
    lines = sum(max(name.count("\n") + 1 for name in names[i : i + columns]) for i in range(0, len(names), columns))
    room, before = lines * LINE * FONT / 72 + 0.25, drawn.get_figheight()
    drawn.set_figheight(before + room)
    drawn.axes[0].set_position((0.0, room / (before + room), 1.0, before / (before + room)))
    style: dict[str, Any] = {"loc": "lower center", "fontsize": FONT, "frameon": False, "borderpad": 0.2}
    for text in drawn.legend(patches, names, ncols=min(columns, len(names)), **style).get_texts():
        text.set_parse_math(False)


def _colour(action: int) -> str:
    return LEAF_COLOURS[action % len(LEAF_COLOURS)]


def _widest(text: str) -> int:
    return max(map(len, text.split("\n")))


def svg(graph: nx.DiGraph) -> str:
    """Return a drawing as SVG markup for notebooks; "" where matplotlib is not installed."""
    try:
        drawn = figure(graph)
    except ImportError:
        return ""
    picture = io.StringIO()
    with plain():
        drawn.savefig(picture, format="svg", metadata={"Date": None})
    text = picture.getvalue()
    return text[text.index("<svg") :]


def draw_tree(graph: nx.DiGraph, axes: Any) -> None:
    """Draw a rooted tree on matplotlib axes, in letters as large as fit; ``figure`` makes one of the right size."""
    _draw(_Layout(graph), axes)


def _draw(tree: _Layout, axes: Any) -> None:
    box = axes.get_window_extent()
    room = (box.width / axes.figure.dpi, box.height / axes.figure.dpi)
    fits = min(have / need for have, need in zip(room, tree.inches(FONT), strict=True))
    font = FONT * min(1.0, max(fits, SMALLEST / FONT))
    for parent, child, answer in tree.graph.edges(data="label"):
        (x0, y0), (x1, y1) = tree.place[parent], tree.place[child]
        axes.plot([x0, x1], [y0, y1], color="0.5", linewidth=1.2 * font / FONT, zorder=1)
        if y0 == y1:
            share = (tree.half(parent) + (x1 - x0 - tree.half(parent) - tree.half(child)) / 2) / (x1 - x0)
        else:
            above = tree.top[child] + 0.45 * LEVEL  # between the boxes, wherever the line is at that height
            share = (y0 - above) / (y0 - y1)
        pale = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        style: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False, "color": "0.35", "bbox": pale}
        axes.text(x0 + share * (x1 - x0), y0 + share * (y1 - y0), answer, fontsize=SMALLER * font, zorder=2, **style)
    for node, data in tree.graph.nodes(data=True):
        colour = _colour(data["action"]) if "action" in data else "#FFFFFF"
        letters = ink(colour) if "action" in data else "black"  # a page for the dark turns these with their white box
        box_style = {"facecolor": colour, "edgecolor": "0.3", "boxstyle": "round,pad=0.4"}
        style = {"ha": "center", "va": "center", "parse_math": False, "bbox": box_style, "color": letters}
        axes.text(*tree.place[node], tree.label[node], fontsize=font, zorder=3, **style)
    axes.set_xlim(*tree.sides)
    axes.set_ylim(tree.bottom, 0.0)
    axes.set_axis_off()


class _Layout:
    """Where the nodes of a rooted tree go, in letters across and lines down: no two boxes meet."""

    def __init__(self, graph: nx.DiGraph) -> None:
        import networkx as nx

        self.graph = graph
        self.label = {node: _wrapped(data["label"]) for node, data in graph.nodes(data=True)}
        if graph.graph.get("lines") and len(graph) > 3:
            tests = [node for node, data in graph.nodes(data=True) if "action" not in data]
            self.label |= {node: f"{i}. {self.label[node]}" for i, node in enumerate(sorted(tests), 1)}
            middle, levels = self._in_lines(graph, sorted(tests))
        else:
            middle, levels = _columns(graph, {node: _widest(text) for node, text in self.label.items()}), None
        self.place: dict[int, tuple[float, float]] = {}
        self.top: dict[int, float] = {}
        y = 0.0
        for level in levels or nx.bfs_layers(graph, 0):  # by their distance from the root
            lines = max(self.label[node].count("\n") + 1 for node in level) + 1.5  # half a line of box, and air
            self.top |= dict.fromkeys(level, y)
            self.place |= {node: (middle[node], y - lines / 2) for node in level}
            y -= lines + LEVEL
        self.bottom = y + LEVEL
        ends = [(self.place[node][0], self.half(node)) for node in self.label]
        self.sides = min(x - half for x, half in ends), max(x + half for x, half in ends)

    def half(self, node: int) -> float:
        """Return half the width of a node's box, with the air beside it."""
        return _widest(self.label[node]) / 2 + 2

    def _in_lines(self, graph: nx.DiGraph, tests: list[int]) -> tuple[dict[int, float], list[list[int]]]:
        """Return the middles and the levels of a chain: a line for each test with its action, and one for the rest."""
        played = {test: next(n for n in graph.successors(test) if "action" in graph.nodes[n]) for test in tests}
        (rest,) = set(graph) - {*tests, *played.values()}
        right = max(map(self.half, tests)) + max(map(self.half, played.values())) + LEVEL
        middle = dict.fromkeys([*tests, rest], 0.0) | dict.fromkeys(played.values(), right)
        return middle, [*([test, played[test]] for test in tests), [rest]]

    def inches(self, font: float) -> tuple[float, float]:
        """Return the width and height that the tree takes at a font size in points."""
        left, right = self.sides
        return (right - left) * LETTER * font / 72, -self.bottom * LINE * font / 72


def _columns(graph: nx.DiGraph, widths: dict[int, int]) -> dict[int, float]:
    """Return the middle of each node: subtrees stand side by side, each as wide as its boxes."""
    import networkx as nx

    order = list(nx.topological_sort(graph))
    room: dict[int, float] = {}
    for node in reversed(order):
        room[node] = max(widths[node] + 4.0, sum(room[child] for child in graph.successors(node)))
    middle = {order[0]: 0.0}
    for node in order:
        left = middle[node] - sum(room[child] for child in graph.successors(node)) / 2
        for child in graph.successors(node):
            middle[child] = left + room[child] / 2
            left += room[child]
    return middle


def _wrapped(label: str) -> str:
    """Return a label in lines that are not long, with signs as people write them; a comparison keeps its number."""
    for sign, written in SIGNS.items():
        label = label.replace(f" {sign} ", f" {written} ")
    for sign in (*SIGNS.values(), "<", ">", "="):
        label = label.replace(f" {sign} ", f" {sign}\u00a0")
    lines = (fill(line, WIDEST, break_on_hyphens=False) for line in label.split("\n"))
    return "\n".join(lines).replace("\u00a0", " ")
