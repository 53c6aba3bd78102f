"""Every colour of pictures can be seen on white, and letters be read: on leaves, and on light and dark pages."""

import re
from importlib.resources import files
from itertools import product

import pytest
from matplotlib.colors import to_hex

from milpcb.core.text import ink
from milpcb.experiments.results.figures.drawing import GREY, render
from milpcb.experiments.results.figures.line_styles import COLOURS, PLACES, line_styles
from milpcb.experiments.results.figures.overview import SHADES
from milpcb.experiments.results.figures.rounds import BEST
from milpcb.experiments.results.figures.scaling import GUIDE
from milpcb.experiments.results.report import adaptive
from milpcb.plugins import registry
from policies.drawing import LEAF_COLOURS
from policies.trees.rule import DecisionTree, Leaf, Split

LINES, TEXT = 3.0, 4.5  # to 1, as WCAG 2 asks of graphics and of text
PAGE = (files("milpcb.experiments.results") / "templates/page.html.jinja").read_text()
LIGHT, DARK = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{([^}]*)\}", PAGE))


def luminance(colour):
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(to_hex(colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Return the contrast of two colours, 1 to 21."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_of_a_page_stand_out(colours):
    """On everything that they stand on."""
    for ink_, ground in product(("ink", "soft", "accent"), ("page", "band", "note")):
        assert contrast(colours[ink_], colours[ground]) >= TEXT, (ink_, ground)
    assert contrast(colours["faint"], colours["page"]) >= LINES
    assert contrast(colours["alarm"], colours["note"]) >= LINES


def test_lines_of_learners_stand_out():
    """All colours of all line styles, of registered learners, of many labels, and of variants in every shade."""
    labels = [*registry.names("learner"), *(f"label {i}" for i in range(60))]
    variants = {f"{name} {i}": name for name in PLACES for i in range(5)}
    found = {style.colour for style in [*line_styles(labels).values(), *line_styles(variants, variants).values()]}
    assert len(found) > 2 * len(COLOURS)
    assert {colour: contrast(colour, "white") for colour in found if contrast(colour, "white") < LINES} == {}


@pytest.mark.parametrize("colour", [GREY, BEST["color"], GUIDE["color"]])
def test_grey_lines_stand_out(colour):
    """Comparators and guides are grey, but no paler than other lines may be."""
    assert contrast(colour, "white") >= LINES
    assert contrast(GREY, "white") >= TEXT  # numbers are written in it too


@pytest.mark.parametrize("colour", [*LEAF_COLOURS, "#FFFFFF"])
def test_letters_on_leaves_can_be_read(colour):
    """Black or white, whichever is better, has a contrast of 4.5 to 1 on the colour of every action."""
    assert contrast(ink(colour), colour) >= TEXT


def test_numbers_on_shades_can_be_read():
    """The table of shares: each shade, from far below 0 to far above random play, carries its number."""
    shades = [to_hex(SHADES(i / 100)) for i in range(101)]
    assert min(contrast(ink(shade), shade) for shade in shades) >= TEXT


def test_pictures_of_a_page_are_turned_in_the_dark():
    """Black, white and greys are variables that follow the reader; colours and letters on them stay."""
    tree = DecisionTree(Split(0, 1.0, Leaf(0), Leaf(1)))
    plain = render(tree.figure(), ("svg",))["svg"].decode()
    turned = adaptive(plain.encode()).decode()
    assert "#ffffff" in plain
    assert not re.search("(fill|stroke): (#ffffff|#000000|#595959)", turned)
    assert "fill: var(--page)" in turned
    for colour in (*LEAF_COLOURS[:2], ink(LEAF_COLOURS[0])):
        assert turned.lower().count(f"fill: {colour.lower()}") == plain.lower().count(f"fill: {colour.lower()}") > 0
    assert turned.count(f"fill: {ink(LEAF_COLOURS[0]).lower()}") == 2  # those of the leaves: a test stands on the page
    variables = re.findall(r"--(\w+): (#\w+)", turned)
    assert {name for name, _ in variables} == {"page", "ink", "soft", "line"}
    light, dark = dict(variables[:4]), dict(variables[4:])
    for colours in (light, dark):
        assert contrast(colours["ink"], colours["page"]) >= TEXT
        assert contrast(colours["soft"], colours["page"]) >= TEXT
