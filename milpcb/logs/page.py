"""The HTML page on a log: the verdict, what to do, and sections: the rule, its value, what was asked, the evidence."""

from __future__ import annotations

import numpy as np

from milpcb.core.decimals import fixed, percent
from milpcb.experiments.results.report import fill
from milpcb.logs import words
from milpcb.logs.budget import budget_limit, budget_section
from milpcb.logs.findings import Findings
from milpcb.logs.guaranteed import guaranteed_section
from milpcb.logs.pareto import front_section
from milpcb.logs.rashomon import near_section
from milpcb.logs.rule import parts_section, rule_section
from milpcb.logs.sections import PageSection, PageTable, PageText, rule_text, there
from milpcb.logs.sheet import card_section, colophon, columns_on_sheet
from milpcb.logs.values import bars, first, worth_lines, worth_table
from milpcb.logs.what_if import price_section
from milpcb.offline import State

NAMED = 8  # actions in the subtitle
ALL = 10_000  # rows of a table of which none is folded away
USE = (
    "Show it first to those who know the people it decides about. Is every column that it reads known before the "
    "decision? Would you defend each part of it to those who are in it? Then try it on a later log: milpcb evaluate "
    "takes policy.json, which is beside this page."
)
BOTH = (
    "Both claims allow for the choice of the rule among all of its class. The range is that of the gain over treating "
    "all alike ({}; in the second line each end by itself), and p is the probability of so large a gain if no rule of "
    "the class gained anything."
)
EXACTLY = (
    "The limits hold exactly in the rows that the rule was learnt from; among other people the shares may differ by "
    "chance."
)
SURE = (
    " Limits on other outcomes hold among all such people, with the confidence named; the claims on this page go by "
    "rules that keep them in these rows."
)


def page(found: Findings, command: str, digest: str | None = None) -> str:
    """Return the HTML page, which needs no network; ``command`` makes it again, ``digest`` is that of the log."""
    shown = found.state in (None, State.TARGET)
    heading = "The rule" if shown else "What looked best, not supported"
    rule = card_section(found, heading) or rule_section(found, heading)
    worth, parts, asked = value_section(found), parts_section(found), asked_section(found)
    others = evidence(found)
    missing = [section for section in others if section.missing]
    last = [use_section(found, command, shown=shown), *others, statistician(found, missing)]
    verdict = words.verdict(found)
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
        sheet=[asked, columns_on_sheet(found), *([] if shown else [rule])],
        colophon=colophon(found, command, digest),
        rest=there([parts, *last]),
    )


def subtitle(found: Findings) -> str:
    """Return what the log is, in a line."""
    names = ", ".join(found.actions[:NAMED]) + (", ..." if len(found.actions) > NAMED else "")
    kept = f"; {fixed(found.aside.n, 0)} of them kept aside" if found.aside else ""
    read = ", read in one pass" if found.files else ""
    return f"{fixed(found.n, 0)} decisions among {fixed(len(found.actions), 0)} actions: {names}{read}{kept}"


def evidence(found: Findings) -> list[PageSection]:
    """Return what was asked beside the rule, and how stable it is; each is there, or gives its reason."""
    unit, level = found.unit, found.questions.level
    limit = budget_limit(found.estimator, found.questions.budget)
    return [
        guaranteed_section(found.guaranteed, unit, level),
        price_section(found.prices, unit, level, words.no_prices(found)),
        near_section(found.near, unit, level, words.no_near(found)),
        front_section(found.front, unit),
        budget_section(
            found.budget, found.questions.budget, unit, level, limit,
            missing=words.no_budget(found), supported=found.supported,
        ),
        stability_section(found),
    ]  # fmt: skip


def value_section(found: Findings) -> PageSection:
    """Return what the rule, the best way to treat all alike, and what was done are worth."""
    gain, drawn = words.gain(found), bars(found.unit, first(worth_lines(found)), found.questions.level)
    return PageSection("What it is worth", [gain] if gain else [], bars=drawn)


def asked_section(found: Findings) -> PageSection:
    """Return the limits that were asked for, whether they are kept, and what treatments cost."""
    heading = "What you asked for"
    charges = words.charges_of(found.estimator.treatment_cost, maximise=found.unit.maximise)
    if not found.asked:
        none = "No limits: --at-most, --parity, --never, --always, --monotone and --no-worse set some."
        return PageSection(heading, charges, notes=[none])
    tables = [asked_table(found)]
    if found.asked_aside:
        aside = [[kept.asked, kept.does, kept.verdict] for kept in found.asked_aside]
        headings = ("in the rows kept aside, where nothing makes it so", "the rule", "")
        tables.append(PageTable("Table of what was asked for, rows kept aside", headings, aside, (0, 1, 2), most=ALL))
    return PageSection(heading, charges, tables=tables, notes=[EXACTLY + (SURE if found.questions.limits else "")])


def asked_table(found: Findings) -> PageTable:
    """Return the table of limits."""
    rows = [[kept.asked, kept.does, kept.verdict] for kept in found.asked]
    return PageTable("Table of what was asked for", ("asked for", "the rule", ""), rows, (0, 1, 2), most=ALL)


def use_section(found: Findings, command: str, *, shown: bool) -> PageSection:
    """Return what to do before the rule is used, and the rule as source code where its class has any."""
    policy, estimator = found.estimator.policy_, found.estimator
    folds = []
    if getattr(policy, "decision", lambda: None)() is not None:
        folds = [
            PageSection("as SQL", texts=[PageText("SQL", str(estimator.to_sql()))]),
            PageSection("as Python, without imports", texts=[PageText("Python", str(estimator.to_python()))]),
        ]
    texts = [PageText("Rules as text", rule_text(policy)), PageText("Command", command)]
    folds.append(PageSection("as text, and the command that made this page", texts=texts))
    return PageSection(f"If you want to use it{'' if shown else ' all the same'}", [USE], folds=folds)


def stability_section(found: Findings) -> PageSection:
    """Return whether other rows would give the same rule, and simpler rules."""
    depths, unit = found.stability.by_depth if found.stability else (), found.unit
    folds = [
        PageSection(
            f"depth {each.depth}: {unit.value(each.value.value)} ({unit.ends(each.value.lower, each.value.upper)}) "
            f"{unit.words}, in rows that it was not learnt from",
            texts=[PageText(f"Rules of depth {each.depth}", str(each.policy))],
        )
        for each in depths
        if len(depths) > 1
    ]
    return PageSection("Would other rows give the same rule?", words.stable(found), folds=folds)


def statistician(found: Findings, missing: list[PageSection]) -> PageSection:
    """Return every value, how claims are made, how far the log can be trusted, and what is ``missing`` on the page."""
    claims = claims_table(found)
    both = [BOTH.format(percent(found.questions.level))] if claims.rows else []
    folds = [
        PageSection("every value, with its interval", tables=[worth_table(found)], notes=[words.optimism(found)]),
        PageSection(
            "claims, and how they are made",
            words.sentences(found),
            tables=[claims] if claims.rows else [],
            notes=both,
        ),
        PageSection("how far the log can be trusted, action by action", tables=[trust_table(found)]),
    ]
    if missing:
        reasons = [f"{section.heading}. {section.missing}" for section in missing]
        folds.append(PageSection("what is not on this page, and why", reasons))
    return PageSection("For the statistician", folds=folds)


def claims_table(found: Findings) -> PageTable:
    """Return the claims: how, the gain behind each, its range, its p-value."""
    claims, unit, rows = found.claims, found.unit, []
    if claims is not None and claims.band is not None:
        rows.append(("this rule: a band over all rules of the class", claims.band))
    if claims is not None and claims.learning is not None and not found.own_way:
        rows.append(("learning one: on the folds that it was not learnt from", claims.learning))
    cells = [
        (
            how,
            unit.amount(claim.gain),
            f"{unit.amount(claim.lower)} to {unit.amount(claim.upper)}",
            words.chance(claim.p_value).removeprefix("p = ").removeprefix("p "),
        )
        for how, claim in rows
    ]
    return PageTable("Table of claims", ("how", "gain", "range", "p"), cells)


def trust_table(found: Findings) -> PageTable:
    """Return for each action how often it was done, and how far what is known of it can be trusted."""
    known = found.learnt.diagnostics
    headings = (
        "action",
        "rows",
        "least propensity",
        "effective sample size",
        "calibration (1 is right)",
        "R2 of the regression",
    )
    rows = [
        [
            name,
            fixed(found.learnt.counts[k], 0),
            f"{known.least_propensity[k]:.3g}",
            fixed(known.effective_size[k], 0),
            f"{known.calibration[k]:.2f}",
            f"{known.outcome_r2[k]:.2f}" if np.isfinite(known.outcome_r2[k]) else "-",
        ]
        for k, name in enumerate(found.actions)
    ]
    return PageTable("Table of diagnostics", headings, rows)
