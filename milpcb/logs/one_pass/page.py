"""The page on a log that was read in one pass: that of milpcb.logs.page, with what one pass can know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from milpcb.experiments.results.figures.drawing import Drawing, finish, render
from milpcb.experiments.results.report import fill, picture
from milpcb.logs.bars import bars
from milpcb.logs.one_pass import words
from milpcb.logs.one_pass.finding import OnePass
from milpcb.logs.page import SHOWN
from milpcb.logs.parts import part_of, who
from milpcb.logs.words import SIGNS, charges_of, rules
from milpcb.logs.worth import first
from milpcb.offline import State

Row = Sequence[str]
MISSING = {
    "What it would cost to have it otherwise": "the intervals of prices need",
    "Other rules that do as well": "which rules it can distinguish needs",
    "Value against a budget": "the band of such a curve needs",
}


def page(found: OnePass, command: str) -> str:
    """Return the HTML page, which needs no network; ``command`` makes it again."""
    unit, lines = words.unit_of(found), words.worth(found)
    learnt, verdict = found.learnt, words.verdict(found)
    return fill(
        "learned.html.jinja",
        title=f"What to do for whom? {found.name}",
        subtitle=_subtitle(found),
        mark=words.mark(found),
        sign=SIGNS[found.state],
        state=found.state,
        verdict=verdict[0].upper() + verdict[1:],
        advice=words.advice(found),
        supported=found.state == State.TARGET,
        checks=[*found.warnings, *learnt.diagnostics.words()],
        notes=found.notes,
        rules=rules(found.estimator.policy_),
        drawing=_drawn(found),
        optimism=words.optimism(found),
        unit=unit.words,
        level=f"{found.level:.0%}",
        bars=bars(unit, first(lines), found.level),
        values=[line.cells(unit) for line in lines],
        gain=words.gain(found),
        leaves=list(_parts(found)),
        leaf_headings=[
            "part",
            "who",
            "action",
            "share of rows",
            "looks worth",
            "looks better than treating all alike by",
        ],
        asked=[],
        asked_aside=[],
        sure=False,
        prices=[],
        near=[],
        near_rules=[],
        charges=charges_of(found.estimator.treatment_cost, maximise=learnt.maximise),
        sentences=words.sentences(found),
        claims=[],
        guaranteed=[],
        looks_best="",
        front=None,
        front_words=[],
        front_rows=[],
        front_rules=[],
        front_unit="",
        budget=None,
        budget_rows=[],
        stable=[words.GONE.format("to draw them again needs")],
        missing=[(heading, words.GONE.format(reason)) for heading, reason in MISSING.items()],
        depths=[],
        trust=list(_trust(found)),
        shown=SHOWN,
        sql=_source(found, "to_sql"),
        python=_source(found, "to_python"),
        command=command,
    )


def rule_pictures(found: OnePass) -> dict[str, bytes]:
    """Return the drawing of the rule by the ending of its file; none where it has no drawing."""
    return render(finish(_figure(found))) if hasattr(found.estimator.policy_, "figure") else {}


def _figure(found: OnePass) -> Any:
    unit = words.unit_of(found)
    leaves = [part_of(part.summary, f"looks like {unit.value(part.value)}") for part in found.parts]
    return found.estimator.policy_.figure(leaves)


def _drawn(found: OnePass) -> dict[str, Any] | None:
    if not hasattr(found.estimator.policy_, "figure"):
        return None
    figure = finish(_figure(found))
    return picture(Drawing("policy", "The rule", figure, "Drawing of the policy; its rules are written above.", ""))


def _subtitle(found: OnePass) -> str:
    n, aside = found.learnt.n, 0 if found.aside is None else found.aside.n
    kept = f"; {aside:,} of them kept aside" if aside else ""
    return f"{n + aside:,} decisions among {len(found.actions):,} actions, read in one pass{kept}"


def _parts(found: OnePass) -> Iterator[Row]:
    unit, people = words.unit_of(found), who(found.estimator.policy_)
    for number, part in enumerate(found.parts):
        first_cells = [str(number + 1), people.get(number, ""), part.action, f"{part.share:.1%}"]
        yield [*first_cells, unit.value(part.value), unit.amount(part.gain)]


def _trust(found: OnePass) -> Iterator[Row]:
    """Yield for each action how often it was done, and how far what is known of it can be trusted."""
    known = found.learnt.diagnostics
    for k, name in enumerate(found.actions):
        yield [
            name,
            f"{int(found.learnt.counts[k]):,}",
            f"{known.least_propensity[k]:.3g}",
            f"{known.effective_size[k]:,.0f}",
            f"{known.calibration[k]:.2f}",
            "-",
        ]


def _source(found: OnePass, method: str) -> str:
    decision = getattr(found.estimator.policy_, "decision", lambda: None)()
    return "" if decision is None else str(getattr(found.estimator, method)())
