"""The HTML page on a log: the verdict, the advice, and sections: the rule, its value, the limits, the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.core.checks import ROUNDING
from milpcb.core.decimals import fixed, percent
from milpcb.experiments.results.report import fill
from milpcb.logs import words
from milpcb.logs.findings import Findings
from milpcb.logs.limits import Kept
from milpcb.logs.questions import price_section
from milpcb.logs.rule import colophon, columns_on_sheet, parts_section, rule_section
from milpcb.logs.sections import PageSection, PageTable, Unit
from milpcb.logs.words import alike
from milpcb.offline import IntervalEstimate, State

NAMED = 8  # actions in the subtitle
ALL = 10_000  # rows of a table of which none is folded away
BOTH = (
    "Both claims allow for the choice of the rule among all of its class; p is the probability of so large a gain over "
    "treating all alike if no rule of the class gained anything."
)
LEFT_OUT = (
    "Prices, rules that do as well, curves and stability are left out where they were not asked for, where a log is "
    "added up in one pass, and beside --no-worse, --monotone and --objective guaranteed."
)
EXACTLY = (
    "The limits hold exactly in the rows that the rule was learnt from; among other people the shares may differ by "
    "chance. Limits on other outcomes hold among all such people, with the confidence named."
)


def page(found: Findings, command: str, digest: str | None = None) -> str:
    """Return the HTML page, which needs no network; ``command`` makes it again, ``digest`` is that of the log."""
    shown = found.state in (None, State.TARGET)
    heading = "The rule" if shown else "The rule that looked best, not supported"
    rule = rule_section(found, heading)
    gain, drawn = words.gain(found), bars(found.unit, first(worth_lines(found)), found.questions.level)
    worth = PageSection("What it is worth", [gain] if gain else [], bars=drawn)
    verdict, annex = words.verdict(found), [parts_section(found), *evidence(found), statistician(found)]
    return fill(
        "learned.html.jinja",
        title=f"What to do for whom? {found.source.name}",
        subtitle=subtitle(found),
        mark=words.mark(found),
        sign=words.SIGNS.get(found.state, "") if found.state else "",
        state=found.state or "none",
        verdict=verdict[0].upper() + verdict[1:],
        advice=words.advice(found),
        checks=words.checks(found),
        notes=found.source.notes,
        first=[rule, worth] if shown else [worth],
        sheet=[asked_section(found), columns_on_sheet(found), *([] if shown else [rule])],
        colophon=colophon(found, command, digest),
        rest=[section for section in annex if not section.empty],
    )


def subtitle(found: Findings) -> str:
    """Return a description of the log, in a line."""
    names = ", ".join(found.actions[:NAMED]) + (", ..." if len(found.actions) > NAMED else "")
    kept = f"; {fixed(found.aside.n, 0)} of them held out" if found.aside else ""
    read = ", read in one pass" if found.files else ""
    return f"{fixed(found.n, 0)} decisions among {fixed(len(found.actions), 0)} actions: {names}{read}{kept}"


def evidence(found: Findings) -> list[PageSection]:
    """Return the prices, rules that do as well, front, curve of budgets and stability, empty where not computed."""
    others = [found.sections.get(name, PageSection("")) for name in ("near", "front", "budget")]
    stable = found.stability.words() if found.stability else ()
    return [price_section(found), *others, PageSection("Would other rows give the same rule?", stable)]


def asked_section(found: Findings) -> PageSection:
    """Return the limits, whether they are kept, and the costs of treatments."""
    charges = words.charges_of(found.estimator.treatment_cost, maximise=found.unit.maximise)
    tables, note = ([asked_table(found.asked)], EXACTLY) if found.asked else ([], "No limits were set.")
    return PageSection("What you asked for", charges, tables=tables, notes=[note])


def asked_table(limits: Sequence[Kept]) -> PageTable:
    """Return the table of limits."""
    return PageTable("Table of what was asked for", ("asked for", "the rule", ""), limits, (0, 1, 2), most=ALL)


def statistician(found: Findings) -> PageSection:
    """Return every value, the method of the claims, and how far the log can be trusted."""
    claims = claims_table(found)
    folds = [
        PageSection("every value, with its interval", tables=[worth_table(found)]),
        PageSection(
            "claims, and how they are made",
            words.sentences(found),
            tables=[claims] if claims.rows else [],
            notes=[BOTH] if claims.rows else [],
        ),
        PageSection("how far the log can be trusted, action by action", tables=[trust_table(found)]),
    ]
    return PageSection("For the statistician", folds=folds, notes=[LEFT_OUT])


def claims_table(found: Findings) -> PageTable:
    """Return the claims: for each its method, the gain behind it, its range, its p-value."""
    unit, claims, cells = found.unit, found.claims, []
    made = {
        "this rule: a band over all rules of the class": claims.band if claims else None,
        "rules learnt in this way: on folds that they were not learnt from": claims.learning if claims else None,
    }
    for how, claim in made.items():
        if claim is not None:
            p = words.chance(claim.p_value).removeprefix("p ").removeprefix("= ")
            cells.append((how, unit.amount(claim.gain), unit.interval(claim), p))
    return PageTable("Table of claims", ("how", "gain", "range", "p"), cells)


def trust_table(found: Findings) -> PageTable:
    """Return for each action its number of rows, and how far its estimates can be trusted."""
    known, K = found.learnt.diagnostics, range(len(found.actions))
    columns = {
        "action": found.actions,
        "rows": [fixed(found.learnt.counts[k], 0) for k in K],
        "least propensity": [f"{known.least_propensity[k]:.3g}" for k in K],
        "effective sample size": [fixed(known.effective_size[k], 0) for k in K],
        "calibration (1 is right)": [f"{known.calibration[k]:.2f}" for k in K],
    }
    return PageTable("Table of diagnostics", tuple(columns), list(zip(*columns.values(), strict=True)))


MARGIN = 0.04  # of the width of bars, left free at either side
RULE, DONE = "this rule", "what was done"
ASIDE = ", hold-out rows"


@dataclass(frozen=True)
class Worth:
    """A line: a name, a value (NaN: not known), the ends of a valid interval or None, and the kind of the interval."""

    name: str
    value: float
    interval: tuple[float, float] | None
    how: str

    def cells(self, unit: Unit) -> list[str]:
        """Return the line of a table: name, value, interval, and kind of the interval."""
        value = unit.value(self.value) if self.value == self.value else "not known"
        return [self.name, value, "" if self.interval is None else unit.ends(*self.interval), self.how]


def worth_lines(found: Findings) -> list[Worth]:
    """Return lines with valid intervals: rule, reference, the log's actions, constants (best first), hold-out rows."""
    seen, reference, constants = found.evaluation, found.reference, found.evaluation.constants
    rule = Worth(RULE, seen.value.estimate, None, "too favourable: in rows that it was learnt from")
    if found.claims is not None:
        rule = _line(RULE, found.claims.value, "valid for all rules at once, so also for the one chosen")
    how = "the best that treats all alike" if reference.allowed else "treats all alike; breaks what was asked for"
    if reference.constant is not None:
        how = _no_rows(found, reference.constant) or how
    lines = [rule, _line(alike(reference), seen.reference_value, how), _line(DONE, seen.logged, "")]
    sign = 1.0 if found.unit.maximise else -1.0
    best_first = sorted(constants, key=lambda name: (not constants[name].known, -sign * constants[name].estimate))
    others = [name for name in best_first if name != reference.constant]
    lines += [_line(f"always '{name}'", constants[name], _why_not(found, name)) for name in others]
    if found.aside is not None and (aside := found.held_out) is not None:
        lines.append(_line(f"{RULE}{ASIDE}", aside.value, f"{fixed(found.aside.n, 0)} other rows"))
        lines.append(_line(f"{alike(aside.reference)}{ASIDE}", aside.reference_value, "the best there"))
        lines.append(_line(f"{DONE}{ASIDE}", aside.logged, ""))
    none: dict[str, Any] = {"interval": None, "how": "no interval: propensities do not fit"}
    return [line if found.sound or line.name.startswith(DONE) else replace(line, **none) for line in lines]


def first(lines: Sequence[Worth]) -> list[Worth]:
    """Return the three lines that a page shows first, all in hold-out rows if there are any."""
    return [line for line in lines if line.name.endswith(ASIDE)] or list(lines[:3])


def worth_table(found: Findings) -> PageTable:
    """Return the table of all values."""
    headings = ("", found.unit.words, f"{percent(found.questions.level)} interval", "")
    return PageTable("Table of values", headings, [line.cells(found.unit) for line in worth_lines(found)], (0, 3))


def _no_rows(found: Findings, name: str) -> str:
    unseen = found.learnt.unseen[found.actions.index(name)]
    return f"no rows of it among {fixed(unseen, 0)} people" if unseen > 0 else ""


def _why_not(found: Findings, name: str) -> str:
    ways, k = found.reference.ways, found.actions.index(name)
    within = ways.totals[:, :, k].sum(axis=1) <= ways.upper + ROUNDING * np.abs(ways.totals).sum(axis=(1, 2))
    allowed = within.all() and ways.playable[ways.stratum, k].all()
    return _no_rows(found, name) or ("" if allowed else "not allowed for everybody")


def _line(name: str, value: IntervalEstimate, how: str) -> Worth:
    return Worth(name, value.estimate, (value.lower, value.upper) if value.known else None, how)


def bars(unit: Unit, lines: Sequence[Worth], level: float) -> dict[str, Any]:
    """Return the drawing of the first three values: of the rule, of treating all alike, and of the log's actions."""
    alike, dashed = lines[1].name.removesuffix(ASIDE), lines[1].value
    lines = [line for line in lines if line.value == line.value]
    every = [unit.inside(x) for line in lines for x in (line.value, *(line.interval or ()))] + [unit.inside(dashed)]
    low, high = min(every), max(every)
    free = MARGIN * (high - low) or 1.0
    low, high = low - free, high + free

    def place(value: float) -> str:
        return f"{100 * (unit.inside(value) - low) / (high - low):.2f}"

    drawn = []
    for line in lines:
        left, right = line.interval or (line.value, line.value)
        ends = unit.ends(left, right) if line.interval else "no interval"
        drawn.append(
            {
                "name": line.name,
                "own": line.name.startswith(RULE),
                "value": unit.value(line.value),
                "ends": ends,
                "how": line.how,
                "left": place(left),
                "width": f"{float(place(right)) - float(place(left)):.2f}",
                "dot": place(line.value),
            }
        )
    better = "Farther right" if unit.maximise else "Farther left"
    caption = f"Bars: {percent(level)} intervals. Dashed: {alike}. {better} is better."
    return {"lines": drawn, "dashed": place(dashed), "unit": unit.words, "caption": caption}
