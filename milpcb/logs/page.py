"""The HTML page on a log: the verdict, what to do, the rule, its value, the limits asked for, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from milpcb.core.decimals import fixed
from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import GREY, MEDIUM, SMALL, Drawing, finish, fitted, grid, render
from milpcb.experiments.results.figures.looks import COLOURS
from milpcb.experiments.results.report import fill, picture
from milpcb.logs import front_words, near_words, words
from milpcb.logs.bars import bars
from milpcb.logs.budget import budget_limit
from milpcb.logs.findings import Findings
from milpcb.logs.front_words import second_unit
from milpcb.logs.parts import parts, who
from milpcb.logs.unit import Unit
from milpcb.logs.what_if import lines as price_lines
from milpcb.logs.worth import first, worth
from milpcb.offline import State

BAND = 0.18  # opacity
NARROW = 5.4  # inches


def rule_figure(found: Findings) -> Any:
    """Return the drawing of the rule."""
    return found.estimator.policy_.figure(parts(found))


@plain()
def budget_drawing(found: Findings) -> Drawing:
    """Return the held-out value of learning against the share of rows that may get the action."""
    action, points, unit = found.questions.budget, found.budget, Unit.of(found)
    figure, (axes,) = _panel()
    shares = [point.share for point in points]
    values = [point.value for point in points]
    line = {"color": COLOURS[0], "marker": "o", "markersize": 5}
    axes.fill_between(shares, [v.lower for v in values], [v.upper for v in values], color=COLOURS[0], alpha=BAND, lw=0)
    axes.plot(shares, [v.value for v in values], label="rules learnt on other rows", **line)
    axes.plot(shares, [point.alike for point in points], "--", color=GREY, label="treating all alike")
    limit = budget_limit(found.estimator, action)
    if limit is not None:
        axes.axvline(limit, color=COLOURS[1], linewidth=1.2)
        axes.annotate("asked for", (limit, 1.0), xycoords=("data", "axes fraction"), xytext=(4, -10),
                      textcoords="offset points", color=COLOURS[1], fontsize=SMALL)  # fmt: skip
    axes.legend(fontsize=SMALL, frameon=False, loc="best")
    axes.set_xlabel(fitted(f"at most this share of the people gets '{action}'", 4.2, MEDIUM), fontsize=MEDIUM,
                    parse_math=False)  # fmt: skip
    axes.set_ylabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.yaxis.set_major_formatter(lambda value, _: unit.tick(value))
    first, last = points[0], points[-1]
    chance = (
        "" if found.supported else " No rule is shown to be better than treating all alike: what rises may be chance."
    )
    return Drawing(
        "budget",
        f"Value against the budget of '{action}'",
        figure,
        f"From {unit.value(first.value.value)} at {first.share:.0%} to {unit.value(last.value.value)} at "
        f"{last.share:.0%}.",
        "Each point is what rules learnt under its budget give on folds that they were not learnt from. The band "
        f"is one for all budgets at once ({found.questions.level:.0%}); dashed is the best way to treat all alike that "
        f"keeps the budget.{chance}",
    )


@plain()
def front_drawing(found: Findings) -> Drawing:
    """Return the rules that are the best for some weighting of two outcomes."""
    unit, other = Unit.of(found), second_unit(found)
    points = found.front.points if found.front else ()
    figure, (axes,) = _panel()
    places = [(point.first, point.second) for point in points]
    axes.plot(*zip(*places, strict=True), color=COLOURS[0], marker="o", markersize=5)
    for number, place in enumerate(places, 1):
        if number in (1, len(places)):
            axes.annotate(str(number), place, xytext=(5, 5), textcoords="offset points", fontsize=SMALL)
    axes.set_xlabel(_axis(unit), fontsize=MEDIUM, parse_math=False)
    axes.set_ylabel(_axis(other), fontsize=MEDIUM, parse_math=False)
    for axis, own in ((axes.xaxis, unit), (axes.yaxis, other)):
        axis.set_major_formatter(lambda value, _, own=own: own.tick(value))
    better = [("right" if unit.maximise else "left"), ("up" if other.maximise else "down")]
    return Drawing(
        "front",
        "Two outcomes at once",
        figure,
        "; ".join(f"rule {n}: {unit.value(a)} and {other.value(b)}" for n, (a, b) in enumerate(places, 1)),
        f"Each point is a rule; {better[0]} and {better[1]} is better. Rule 1 is the best by "
        f"'{unit.name}', the last one by '{other.name}'.",
    )


def _panel() -> tuple[Any, list[Any]]:
    """Return a figure of one panel that is narrow enough to be read on a phone."""
    figure, every = grid(1, 1, 3.4, "")
    figure.set_figwidth(NARROW)
    return figure, every


def _axis(unit: Unit) -> str:
    return fitted(f"{unit.words}", 3.0, MEDIUM)


Row = Sequence[str]
SHOWN = 12  # rows of a table; the others are folded away
NAMED = 8  # actions in the subtitle


def page(found: Findings, command: str) -> str:
    """Return the HTML page, which needs no network; ``command`` makes it again."""
    unit, lines, level = Unit.of(found), worth(found), found.questions.level
    return fill(
        "learned.html.jinja",
        title=f"What to do for whom? {found.source.name}",
        subtitle=_subtitle(found),
        mark=words.mark(found),
        sign=words.SIGNS.get(found.state, "") if found.state else "",
        state=found.state or "none",
        verdict=_sentence(words.verdict(found)),
        advice=words.advice(found),
        supported=found.state in (None, State.TARGET),
        checks=words.checks(found),
        notes=found.source.notes,
        rules=words.rules(found.estimator.policy_),
        drawing=_drawn(found),
        optimism=words.optimism(found.evaluation),
        unit=unit.words,
        level=f"{level:.0%}",
        bars=bars(unit, first(lines), level),
        values=[line.cells(unit) for line in lines],
        gain=words.gain(found),
        leaves=list(_leaves(found, unit)),
        leaf_headings=_leaf_headings(found),
        asked=[[kept.asked, kept.does, kept.verdict] for kept in found.asked],
        asked_aside=[[kept.asked, kept.does, kept.verdict] for kept in found.asked_aside],
        sure=bool(found.questions.limits),
        prices=list(price_lines(found.prices, unit.amount)),
        near=near_words.near(found),
        near_rules=[(unit.value(each.value), words.rules(each.rules)) for each in found.near.rules]
        if found.near
        else [],
        charges=words.charges(found),
        sentences=words.sentences(found),
        claims=words.claims_table(found),
        guaranteed=words.guaranteed(found),
        looks_best=words.rules(found.guaranteed.rules) if found.guaranteed and found.guaranteed.differ else "",
        front=picture(front_drawing(found)) if found.front else None,
        front_words=front_words.front(found),
        front_rows=front_words.front_table(found),
        front_rules=[words.rules(point.rules) for point in found.front.points[:SHOWN]] if found.front else [],
        front_unit=front_words.second_unit(found).words,
        budget=picture(budget_drawing(found)) if found.budget else None,
        budget_rows=list(_budget_rows(found, unit)),
        stable=words.stable(found),
        missing=[
            (heading, reason)
            for heading, reason in (
                ("What it would cost to have it otherwise", words.no_prices(found)),
                ("Other rules that do as well", near_words.no_near(found)),
                ("Value against a budget", words.no_budget(found)),
            )
            if reason
        ],
        depths=_depths(found, unit),
        trust=list(_trust(found)),
        shown=SHOWN,
        sql=_source(found, "to_sql"),
        python=_source(found, "to_python"),
        command=command,
    )


def _subtitle(found: Findings) -> str:
    log = found.source.log
    names = ", ".join(log.actions[:NAMED]) + (", ..." if len(log.actions) > NAMED else "")
    aside = len(log) - len(found.learnt.numbers)
    kept = f"; {fixed(aside, 0)} of them kept aside" if aside else ""
    return f"{fixed(len(log), 0)} decisions among {fixed(len(log.actions), 0)} actions: {names}{kept}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _drawn(found: Findings) -> dict[str, Any] | None:
    """Return the picture of the rule; None for a policy that has no drawing."""
    if not hasattr(found.estimator.policy_, "figure"):
        return None
    figure = finish(rule_figure(found))
    return picture(Drawing("policy", "The rule", figure, f"The rule as a drawing: {'; '.join(_in_words(found))}", ""))


def _in_words(found: Findings) -> Iterator[str]:
    """Yield who gets what, for those who cannot see the drawing."""
    people = who(found.estimator.policy_)
    for number, leaf in enumerate(parts(found)):
        yield f"{people.get(number, number + 1)}: {leaf.name}"


def rule_pictures(found: Findings) -> dict[str, bytes]:
    """Return the drawing of the rule by the ending of its file; none where it has no drawing."""
    if not hasattr(found.estimator.policy_, "figure"):
        return {}
    return render(finish(rule_figure(found)))


def _leaf_headings(found: Findings) -> Row:
    if found.held_out is None:
        return ["part", "who", "action", "share of rows", "looks worth", "looks better than treating all alike by"]
    level = f"{found.questions.level:.0%}"
    return ["part", "who", "action", "share of rows kept aside", "value there", level, "gain there", level]


def _leaves(found: Findings, unit: Unit) -> Iterator[Row]:
    people, aside = who(found.estimator.policy_), found.held_out is not None
    for leaf in (found.held_out or found.evaluation).leaves:
        own, gain = leaf.value, leaf.gain
        alike = not any((gain.value, gain.lower, gain.upper))
        better = ("same action", "") if alike else (unit.amount(gain.value), unit.interval(gain))
        first = [str(leaf.part + 1), people.get(leaf.part, ""), leaf.name, f"{leaf.share:.1%}", unit.value(own.value)]
        yield [*first, unit.ends(own.lower, own.upper), *better] if aside else [*first, better[0]]


def _budget_rows(found: Findings, unit: Unit) -> Iterator[Row]:
    for point in found.budget:
        value = point.value
        alike, ends = unit.value(point.alike), unit.ends(value.lower, value.upper)
        yield [f"{point.share:.0%}", f"{point.used:.1%}", unit.value(value.value), ends, alike]


def _depths(found: Findings, unit: Unit) -> list[dict[str, str]]:
    if found.stability is None:
        return []
    return [
        {
            "depth": str(each.depth),
            "value": f"{unit.value(each.value.value)} ({unit.ends(each.value.lower, each.value.upper)})",
            "rules": str(each.policy),
        }
        for each in found.stability.by_depth
    ]


def _trust(found: Findings) -> Iterator[Row]:
    """Yield for each action how often it was done, and how far what is known of it can be trusted."""
    log, known = found.scores.log, found.scores.diagnostics
    counts = np.bincount(log.action, minlength=len(log.actions))
    for k, name in enumerate(log.actions):
        explained = known.outcome_r2[k]
        yield [
            name,
            f"{fixed(counts[k], 0)}",
            f"{known.least_propensity[k]:.3g}",
            f"{fixed(known.effective_size[k], 0)}",
            f"{known.calibration[k]:.2f}",
            f"{explained:.2f}" if np.isfinite(explained) else "-",
        ]


def _source(found: Findings, method: str) -> str:
    """Return the policy as source code; "" for a class that has none."""
    decision = getattr(found.estimator.policy_, "decision", lambda: None)()
    return "" if decision is None else str(getattr(found.estimator, method)())
