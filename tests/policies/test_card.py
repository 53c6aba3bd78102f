"""A score card: whoever adds up what is printed on it, and looks at nothing else, plays the action of the rule."""

import re
from html import unescape

import numpy as np
import pytest
from matplotlib.axes import Axes

from milpcb.data.columns import Membership, Number
from milpcb.data.fields import Field
from milpcb.errors import InputError, UnknownNameError
from policies.linear.rule import LinearRule
from policies.names import Names

ROW = re.compile(r'<tr><td>([^<]*)</td><td class="points">([^<]*)</td><td class="box"></td></tr>')
OUTCOME = re.compile(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>")


# How somebody who has the card alone reads a range, and a condition.
READ = {
    r"yes": bool,
    r"below (\S+)": lambda value, end: value < float(end),
    r"(\S+) to below (\S+)": lambda value, low, high: float(low) <= value < float(high),
    r"(\S+) to (\S+)": lambda value, low, high: float(low) <= value <= float(high),
    r"(\S+) or more": lambda value, end: value >= float(end),
    r"(\S+) or less": lambda value, end: value <= float(end),
    r"\w+ = (\S+)": lambda value, wanted: value == wanted,
    r"\w+ is not (\S+)": lambda value, other: value != other,
    r"(-?\d+)": lambda value, number: value == float(number),
}


def holds(words, value):
    """Return whether a value is as a line of the card says."""
    if value is None or words.endswith(" or missing"):
        return words.endswith(" or missing") and (value is None or holds(words.removesuffix(" or missing"), value))
    pattern, read = next((pattern, read) for pattern, read in READ.items() if re.fullmatch(pattern, words))
    return read(value, *re.fullmatch(pattern, words).groups())


def added_up(page, person):
    """Return the action that the printed card leads to."""
    total = 0
    for text, points in ROW.findall(page):
        heading, words = unescape(text).split(": ", 1)
        value = person[heading]
        if words == "the number itself":
            total += value * int(points.removeprefix("\u00d7 "))
        elif holds(words, value):
            total += int(points)
    (action,) = (to for where, to in OUTCOME.findall(page) if holds(unescape(where), total))
    return unescape(action)


def drawn(seed):
    """Return a rule of drawn weights, steps and cuts over columns of every kind, its card, and 25 people."""
    rng = np.random.default_rng(seed)
    region = Membership("region", ("north",), inside=int(rng.integers(2)))
    columns = (Number("age"), Number("dose", -1.0), Number("visits"), Number("member"), Number("alone"), region)
    fields = (
        *(Field("age"), Field("dose", missing=True), Field("visits"), Field("member", "boolean")),
        Field("alone", values=(0.0, 1.0)),
        Field("region", "category", ("north", "south")),
    )
    names = Names(tuple(c.name for c in columns), ("wait", "write", "call"), columns, fields)
    ages = tuple(sorted(rng.choice(np.arange(30, 36), rng.integers(1, 4), replace=False) - 0.5))
    doses = tuple(sorted(set(np.round(rng.random(rng.integers(1, 4)), 2))))
    steps = (tuple(map(float, ages)), tuple(map(float, doses)), None, None, None, None)
    weights = tuple(int(w) for w in rng.choice([-3, -2, -1, 1, 2, 3], 6))
    cuts = tuple(sorted(int(cut) for cut in rng.integers(-3, 8, rng.integers(1, 3))))
    people = [
        {
            "age": int(rng.integers(28, 38)),
            "dose": None if rng.random() < 0.2 else float(np.round(rng.random(), 2)),
            "visits": int(rng.integers(0, 4)),
            "member": bool(rng.integers(2)),
            "alone": int(rng.integers(2)),
            "region": str(rng.choice(["north", "south"])),
        }
        for _ in range(25)
    ]
    return LinearRule(weights, cuts, steps, names), people


def test_a_card_alone_plays_the_rule():
    """500 people, by 20 rules: cuts of numbers, counts, yes and no, 1 and 0, strings, missing numbers."""
    played = 0
    for seed in range(20):
        rule, people = drawn(seed)
        page = rule.card(whole=["age"]).html()
        assert "age: " in page
        assert not re.search(r"age: [^<]*\.", page)
        for person, action in zip(people, rule.predict_names(people), strict=True):
            assert added_up(page, person) == action, (str(rule), person)
            played += 1
    assert played == 500


def test_a_card_is_printed_with_labels():
    """Columns and actions by the words of those who use it; boxes for points, and the sums from the greatest down."""
    rule = LinearRule((2, 1), (2,), ((29.5, 44.5), None), Names(("age", "visits"), ("wait", "call")))
    card = rule.card(labels={"age": "Age in years", "call": "Visit at home"}, whole="age")
    assert str(card) == "\n".join(
        [
            "Age in years: 29 or less        0  ____",
            "Age in years: 30 to 44          2  ____",
            "Age in years: 45 or more        4  ____",
            "visits: the number itself     \u00d7 1  ____",
            "Sum                                ____",
            "",
            "2 or more: Visit at home",
            "1 or less: wait",
        ]
    )
    assert "<title>Who is visited</title>" in card.html("Who is visited")
    assert "&lt;b&gt;" in rule.card(labels={"age": "<b>"}).html()


def test_what_cannot_be_a_card_is_refused():
    """A constant, a label of nothing, a column of parts of one that is called whole."""
    names = Names(("age",), ("wait", "call"))
    with pytest.raises(InputError, match="nothing to add up"):
        LinearRule((0,), (1,), (None,), names).card()
    rule = LinearRule((1,), (1,), ((0.2, 0.7),), names)
    with pytest.raises(UnknownNameError, match="did you mean 'age'"):
        rule.card(labels={"agee": "Age"})
    with pytest.raises(InputError, match="not one of integers"):
        rule.card(whole=["age"])
    page = rule.card(labels={"age": "Age"}).html()
    assert [added_up(page, {"Age": age}) for age in (0.1, 0.5, 0.9)] == ["wait", "call", "call"]


def test_the_pdf_has_what_the_page_has(monkeypatch):
    """All words on sheets of A4, the same bytes again, no row or frame beyond one; no letter is a box."""
    texts, places, frames = [], [], []
    write, add = Axes.text, Axes.add_patch
    monkeypatch.setattr(Axes, "add_patch", lambda self, patch: frames.append(patch.get_bbox()) or add(self, patch))
    monkeypatch.setattr(Axes, "text", lambda self, x, y, s, **style: _noted(texts, places, write, self, x, y, s, style))
    rule, _ = drawn(3)
    card = rule.card(labels={"age": f"Age {'of the one who is visited ' * 4}"})
    content = card.pdf("Who is $visited$", note=str(rule))
    words = " ".join(" ".join(texts).split())
    for text, points in ROW.findall(card.html()):
        assert " ".join(unescape(text).split()) in words
        assert unescape(points) in texts
    assert {"Who is $visited$", *(unescape(to) for _, to in OUTCOME.findall(card.html()))} <= set(texts)
    assert max(places) < 297 - 18
    assert (min(frame.x0 for frame in frames), max(frame.x1 for frame in frames)) == (18, 210 - 18)
    assert card.pdf("Who is $visited$", note=str(rule)) == content
    long = LinearRule((1,), (9,), (tuple(map(float, range(60))),), Names(("age",), ("wait", "call")))
    assert len(re.findall(rb"/Type /Page\b", long.card().pdf())) == 3
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    with pytest.raises(InputError, match="no such letter"):
        rule.card(labels={"age": "\u5e74"}).pdf()


def _noted(texts, places, write, axes, x, y, s, style):
    """Write a text, and note it with its place."""
    texts.append(s)
    places.append(y)
    return write(axes, x, y, s, **style)
