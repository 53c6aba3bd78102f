"""The look that all pages share: colours that can be read on a light and on a dark page, keyboard and print."""

import re
from importlib.resources import files

import pytest

TEMPLATES = files("milpcb.experiments.results") / "templates"
PAGE = (TEMPLATES / "page.html.jinja").read_text()
LIGHT, DARK = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{([^}]*)\}", PAGE))
TEXT = [(ink, ground) for ink in ("ink", "soft", "accent") for ground in ("page", "band", "note")]
MARKS = [("faint", "page"), ("alarm", "note")]


def luminance(colour):
    """Return the relative luminance of a colour, as WCAG 2.1 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Return the contrast of two colours, 1 to 21."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out(colours):
    """Text has a contrast of at least 4.5 to 1 on everything it stands on, and marks one of 3 to 1."""
    for least, pairs in ((4.5, TEXT), (3.0, MARKS)):
        for ink, ground in pairs:
            assert contrast(colours[ink], colours[ground]) >= least, (ink, ground)


def test_a_dark_page_has_every_colour():
    """Both themes set the same variables, and nothing of the shared look has a colour of its own on the page."""
    assert LIGHT.keys() == DARK.keys()
    rules = re.sub(r"(?s):root \{.*?\}|figure img \{[^}]*\}", "", PAGE)
    assert not re.findall(r"#[0-9a-fA-F]{3,6}\b", rules)
