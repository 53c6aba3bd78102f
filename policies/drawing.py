"""Rules as graphs, and graphs as pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from policies.leaves import LeafSummary
from policies.names import Names

if TYPE_CHECKING:
    import networkx as nx

# Okabe & Ito's palette without black: told apart by colour-blind readers; pale enough to carry black text.
LEAF_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2")


def chain(
    tests: Sequence[str], actions: Sequence[int], names: Names, leaves: Sequence[LeafSummary] | None = None
) -> nx.DiGraph:
    """Return the graph of "if test 0: action 0, elif test 1: action 1, ..., else: last action"."""
    import networkx as nx

    graph = nx.DiGraph()
    last = len(tests)
    for i in range(last + 1):
        if i < last:
            graph.add_node(2 * i, label=tests[i])
        leaf = 2 * i + 1 if i < last else 2 * last
        graph.add_node(leaf, label=leaf_label(i, actions[i], names, leaves), action=actions[i])
        if i < last:
            graph.add_edge(2 * i, 2 * i + 1, label="yes")
        if i:
            graph.add_edge(2 * i - 2, 2 * i, label="no")
    return graph


def fan(
    root: str, tests: Sequence[str], actions: Sequence[int], names: Names, leaves: Sequence[LeafSummary] | None = None
) -> nx.DiGraph:
    """Return the graph of one node with a leaf for each test that may hold, one at a time."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(0, label=root)
    for part, (test, action) in enumerate(zip(tests, actions, strict=True)):
        graph.add_node(part + 1, label=leaf_label(part, action, names, leaves), action=action)
        graph.add_edge(0, part + 1, label=test)
    return graph


def leaf_label(part: int, action: int, names: Names, leaves: Sequence[LeafSummary] | None) -> str:
    """Return what stands in the drawing of part number ``part``: its action, and what ``leaves`` know of it."""
    lines = [f"play {names.action(action)}"]
    if leaves is not None:
        lines.append(f"{leaves[part].share:.1%} of contexts")
        if leaves[part].mean_cost is not None:
            lines.append(f"mean cost {leaves[part].mean_cost:.3g}")
    return "\n".join(lines)


def svg(graph: nx.DiGraph) -> str:
    """Return a drawing as SVG markup for notebooks; "" where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    figure = Figure(figsize=(7.0, 4.0))
    draw_tree(graph, figure.subplots())
    picture = io.StringIO()
    figure.savefig(picture, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = picture.getvalue()
    return text[text.index("<svg") :]


def draw_tree(graph: nx.DiGraph, axes: Any) -> None:
    """Draw a rooted tree: tests in white boxes, leaves coloured by their action, yes to the left."""
    place = _places(graph)
    for parent, child, answer in graph.edges(data="label"):
        (x0, y0), (x1, y1) = place[parent], place[child]
        axes.plot([x0, x1], [y0, y1], color="0.5", linewidth=1.2, zorder=1)
        axes.text(
            (x0 + x1) / 2,
            (y0 + y1) / 2,
            answer,
            ha="center",
            va="center",
            fontsize=8,
            color="0.35",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    for node, data in graph.nodes(data=True):
        colour = LEAF_COLOURS[data["action"] % len(LEAF_COLOURS)] if "action" in data else "white"
        axes.text(
            *place[node],
            data["label"],
            ha="center",
            va="center",
            fontsize=9,
            zorder=2,
            parse_math=False,
            bbox={"facecolor": colour, "edgecolor": "0.3", "boxstyle": "round,pad=0.4"},
        )
    widths, heights = zip(*place.values(), strict=True)
    axes.set_xlim(min(widths) - 0.7, max(widths) + 0.7)
    axes.set_ylim(min(heights) - 0.5, max(heights) + 0.5)
    axes.set_axis_off()


def _places(graph: nx.DiGraph) -> dict[int, tuple[float, float]]:
    """Leaves side by side in drawing order, parents above the middle of their children."""
    place: dict[int, tuple[float, float]] = {}
    leaves = 0

    def put(node: int, depth: int) -> float:
        nonlocal leaves
        below = [put(child, depth + 1) for child in graph.successors(node)]
        if below:
            x = sum(below) / len(below)
        else:
            x, leaves = float(leaves), leaves + 1
        place[node] = (x, -float(depth))
        return x

    put(0, 0)
    return place
