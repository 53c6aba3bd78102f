"""The rule on the page: its drawing, its parts, its score card, and the columns that it reads."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from milpcb.core.decimals import fixed, percent
from milpcb.experiments.results.figures.drawing import MEDIUM, Drawing, finish, fitted, render
from milpcb.experiments.results.report import picture
from milpcb.logs.features import is_whole
from milpcb.logs.findings import Findings
from milpcb.logs.questions import columns_read, priced
from milpcb.logs.sections import PageSection, PageTable, PageText, rule_text
from milpcb.offline import State

TITLE = 0.4  # inches above a drawing


@dataclass(frozen=True)
class DrawnPart:
    """One part of a rule as a drawing has it: its action, its share (0..1) of the rows, and further lines."""

    name: str
    share: float
    note: str

    def lines(self, part: int) -> list[str]:
        """Return the lines of text in a drawing of part number ``part``."""
        return [f"{part + 1}: {self.name}", f"{percent(self.share, 0)} of rows", *self.note.split("\n")]


def rule_section(found: Findings, heading: str) -> PageSection:
    """Return the rule as a drawing, and as text; a scoring rule as a score card: findings with points, and sums."""
    if (card := card_of(found)) is not None:
        findings = PageTable("Score card", ("finding", "points"), card.rows, most=len(card.rows))
        sums = PageTable("Sums", ("sum", "action"), card.outcomes, (0, 1))
        return PageSection(heading, ["Add up the points of the findings that hold."], tables=[findings, sums])

    def drawn() -> Any:
        people = who(found.estimator.policy_)
        listed = "; ".join(f"{people[n]}: {part.name}" for n, part in enumerate(drawn_parts(found)))
        return picture(Drawing("policy", "The rule", _figure(found), f"The rule as a drawing: {listed}", ""))

    return PageSection(heading, picture=drawn, texts=[PageText("Rules", rule_text(found.estimator.policy_))])


def rule_pictures(found: Findings) -> dict[str, bytes]:
    """Return the drawing of the rule by the ending of its file."""
    return render(_titled(_figure(found), f"What to do for whom? {found.source.name}"))


def _titled(figure: Any, title: str) -> Any:
    height, width = figure.get_figheight(), figure.get_figwidth()
    grown = height + TITLE
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((box.x0, box.y0 * height / grown, box.width, box.height * height / grown))
    figure.set_figheight(grown)
    words = fitted(title, width - 0.3, MEDIUM)
    figure.suptitle(words, x=0.5, y=1 - 0.1 / grown, va="top", fontsize=MEDIUM, parse_math=False)
    return figure


def _figure(found: Findings) -> Any:
    return finish(found.estimator.policy_.figure(drawn_parts(found)))


def drawn_parts(found: Findings) -> list[DrawnPart]:
    """Return the parts of the rule: their values in hold-out rows with intervals, or else marked as apparent values."""
    unit, seen, notes = found.unit, found.held_out or found.evaluation, dict[int, str]()
    for leaf in seen.leaves:
        value = f"{unit.value(leaf.value.estimate)}{' of 100' if unit.binary else ''}"
        ends = unit.ends(leaf.value.lower, leaf.value.upper)
        notes[leaf.part] = f"{value}\n{ends}" if found.held_out else f"looks like {value}"
    shares = {leaf.part: leaf.share for leaf in found.evaluation.leaves}
    return [
        DrawnPart(found.actions[action], shares.get(number, 0.0), notes.get(number, ""))
        for number, action in enumerate(found.estimator.policy_.leaf_actions)
    ]


def parts_section(found: Findings) -> PageSection:
    """Return who gets what, part by part: in hold-out rows with intervals, or else by apparent values."""
    unit, people, seen = found.unit, who(found.estimator.policy_), found.held_out or found.evaluation
    where, looks = (" held out", "") if found.held_out else ("", "looks ")
    gained = f"{looks}better than treating all alike by"
    headings = ("part", "who", "action", f"share of rows{where}", f"{looks}worth", gained)
    rows = []
    for leaf in seen.leaves:
        worth, gain = unit.value(leaf.value.estimate), unit.amount(leaf.gain.estimate)
        if found.held_out:
            worth += f" ({unit.ends(leaf.value.lower, leaf.value.upper)})"
            gain += f" ({unit.interval(leaf.gain)})"
        if not any((leaf.gain.estimate, leaf.gain.lower, leaf.gain.upper)):
            gain = "same action"
        rows.append((str(leaf.part + 1), people[leaf.part], leaf.name, percent(leaf.share, 1), worth, gain))
    table = PageTable("Table of parts", headings, rows, (0, 1, 2), "cards")
    opened = found.state in (None, State.TARGET)
    return PageSection("", folds=[PageSection("who gets what, part by part", tables=[table], open=opened)])


def who(policy: Any) -> dict[int, str]:
    """Return for each part of a rule the tests on the way to it, in words."""
    return {part: ", ".join(way) or "everybody" for part, way in policy.ways().items()}


MOST = 6  # rows of a table of the sheet; the others are in the annex
READS = "What the rule reads"


def columns_on_sheet(found: Findings) -> PageSection:
    """Return the columns that the rule reads, the sensitive ones first, with the price of leaving each out."""
    sensitive, read = found.questions.sensitive, columns_read(found.estimator.policy_)
    prices = {price.name.removeprefix("without "): price for price in found.prices}
    rows = [
        (f"{name} (sensitive)" if name in sensitive else name, *priced(found.unit, prices.get(name)))
        for name in sorted(read, key=lambda name: name not in sensitive)
    ]
    unread = [f"It does not read {name}." for name in sensitive if name not in read]
    if not rows:
        return PageSection(READS, ["It reads no column.", *unread])
    interval = f"{percent(found.questions.level)} interval"
    table = PageTable("Columns", ("column", f"price of leaving it out, {found.unit.words}", interval), rows[:MOST])
    return PageSection(READS, unread, tables=[table])


def card_of(found: Findings) -> Any:
    """Return the score card of a scoring rule, with the labels of ``--labels``; None for any other rule."""
    policy = found.estimator.policy_
    if not hasattr(policy, "card") or policy.decision() in policy.leaf_actions:
        return None
    frame, read = found.source.frame, columns_read(policy)
    named = {*read, *policy.names.actions}
    labels = {name: label for name, label in found.questions.labels if name in named}
    whole = [name for name in read if is_whole(frame[name]) and not found.files]  # of files the frame is a sample
    return policy.card(labels, whole)


def colophon(found: Findings, command: str, digest: str | None) -> list[str]:
    """Return the lines at the end of the sheet: date, data, and the command."""
    of = f"log of {fixed(found.n, 0)} rows"
    which = f"digest {digest}" if digest else "no digest, as its rows were read in one pass"
    return [f"{datetime.now(tz=UTC):%Y-%m-%d}. {found.source.name}: {of}, {which}.", command]
