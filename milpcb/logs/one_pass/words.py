"""The findings of one pass in sentences: what is claimed, what is not, and why not."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from milpcb.core.decimals import fixed
from milpcb.logs.one_pass.finding import OnePass
from milpcb.logs.unit import Unit
from milpcb.logs.words import MARKS
from milpcb.logs.worth import ASIDE, DONE, RULE, Worth, without_interval
from milpcb.offline import State
from milpcb.offline.standing import StandIn, at_level

GONE = "Not known: the log was read in one pass, and {} the rows themselves. Ask it of a sample that fits memory."


def unit_of(found: OnePass) -> Unit:
    """Return the unit of amounts."""
    return Unit(found.columns.outcome, found.learnt.maximise, found.binary, sign=found.unit)


def alike(found: OnePass) -> str:
    """Return what treating all alike means, to be read after "than"."""
    return f"'{found.best_constant}' for everybody"


def mark(found: OnePass) -> str:
    """Return the verdict in three words."""
    return MARKS[found.state]


def lead(found: OnePass) -> str:
    """Return mark, verdict and advice in one paragraph."""
    return f"{mark(found)}: {verdict(found)} {advice(found)}"


def verdict(found: OnePass) -> str:
    """Return what is known, for somebody who decides."""
    if not found.learnt.diagnostics.fits:
        return "the propensities do not fit the log, so nothing follows from them: see the warning."
    unit, claims, other = unit_of(found), found.claims, alike(found)
    sure = f"{found.level:.0%} confidence"
    if found.state == State.TARGET:
        return f"deciding by the rule is better than {other}; {_own(found)} ({sure})."
    most = f"no rule of this kind gains more than {unit.gain(claims.most)} over it ({sure})"
    if found.state == State.ALIKE:
        return f"it is not shown that any rule is better than {other}, and {most}, which is small."
    return f"it is not shown that the rule is better than {other}, and not that no rule is: {most}."


def _own(found: OnePass) -> str:
    """Return the range of the gain of this very rule: by the rows kept aside where these show more."""
    unit, gain = unit_of(found), found.claims.gain
    if found.gain_aside is not None and found.gain_aside.lower > gain.lower:
        aside = found.gain_aside
        return f"the gain of this very rule is {unit.between(aside.lower, aside.upper)} by the rows kept aside"
    return f"the gain of this very rule is {unit.between(gain.lower, gain.upper)}"


def advice(found: OnePass) -> str:
    """Return what to do."""
    if not found.learnt.diagnostics.fits:
        return "So nothing is recommended here: fix the propensities."
    if not found.learnt.known.any():
        return "No action was done everywhere, so none can be recommended for everybody. The rule below keeps to these."
    if found.state == State.TARGET:
        return "Recommended: use the rule below."
    until = "" if found.state == State.ALIKE else ", until more rows are there"
    return f"Recommended: {alike(found)}{until}. The rule that looked best stands below; it is not supported."


def gain(found: OnePass) -> str:
    """Return how much better the rule is than treating all alike; "" where that is not known."""
    if not (found.learnt.diagnostics.fits and found.learnt.known.any()):
        return ""
    unit, claims = unit_of(found), found.claims
    own = f"looks like {unit.gain(claims.gain.value)}, and is {unit.between(claims.gain.lower, claims.gain.upper)}"
    if found.gain_aside is not None:
        aside = found.gain_aside
        own += f"; in the rows kept aside is {unit.gain(aside.value)} ({unit.interval(aside)})"
    return f"The gain of the rule over {alike(found)} {own} ({found.level:.0%})."


def worth(found: OnePass) -> list[Worth]:
    """Return the values of the rule, the best constant, what was done, other constants, and in rows kept aside."""
    lines = list(_worth(found))
    return lines if found.learnt.diagnostics.fits else [without_interval(line) for line in lines]


def _worth(found: OnePass) -> Iterator[Worth]:
    value, learnt = found.claims.value, found.learnt
    yield Worth(RULE, value.value, (value.lower, value.upper), "holds for all rules at once, so after the search")
    sign = 1.0 if learnt.maximise else -1.0
    order = sorted(range(len(found.actions)), key=lambda k: (not learnt.known[k], -sign * float(learnt.constants[k])))
    yield _constant(found, learnt, order[0], "the best that treats all alike" if learnt.known[order[0]] else "")
    yield _done(found, learnt, "")
    for k in order[1:]:
        yield _constant(found, learnt, k, "")
    if found.value_aside is not None and found.aside is not None:
        aside = found.value_aside
        yield Worth(f"{RULE}{ASIDE}", aside.value, (aside.lower, aside.upper), f"{found.aside.n:,} other rows")
        yield _constant(found, found.aside, found.aside.best_action, "the best there", ASIDE)
        yield _done(found, found.aside, ASIDE)


def _constant(found: OnePass, rows: StandIn, k: int, how: str, where: str = "") -> Worth:
    """Return the line of always playing an action in some rows."""
    name = f"always '{found.actions[k]}'{where}"
    if not rows.known[k]:
        return Worth(name, nan, None, f"no rows of it among {fixed(rows.barred.sum(axis=0)[k], 0)} people")
    own = at_level(rows.value(rows.always(k)), found.quantile)
    return Worth(name, own.value, (own.lower, own.upper), how)


def _done(found: OnePass, rows: StandIn, where: str) -> Worth:
    done = at_level((rows.outcome[0], rows.outcome[1] / rows.n**0.5), found.quantile)
    return Worth(f"{DONE}{where}", done.value, (done.lower, done.upper), "")


def sentences(found: OnePass) -> list[str]:
    """Return how it was found and what the claims rest on, for a statistician."""
    claims, learnt = found.claims, found.learnt
    return [
        proof(found),
        (
            f"The log was read in one pass: {learnt.n:,} rows of {found.n_files:,} files were added up to sums for "
            f"{len(learnt.codes):,} contexts, in which every rule has the total that it has over the rows. Cut points "
            f"are those of a sample of {found.n_sampled:,} rows."
        ),
        _scores(found),
        (
            "The intervals of the rule hold for all rules of its class at once, whichever is chosen and why: by "
            f"Bernstein's inequality for exp({claims.log_size:.1f}) rules, each compared with each of "
            f"{len(found.actions)} constants. It holds at every number of rows for outcomes in the range that was "
            "seen, and is wider than the band that rows in memory have."
        ),
        f"No policy of the class gains more than {claims.most:.4g} over {alike(found)} ({found.level:.0%}).",
        "No p-value: those of milpcb.offline learn again from the rows.",
    ]


def _scores(found: OnePass) -> str:
    """Return how the scores were made."""
    method = found.estimator.method
    if method != "dr":
        return f"Scores by {method}, with the propensities given; nothing was fitted to rows (dr is: --method dr)."
    return (
        f"Doubly robust scores, with the propensities given: models of the outcome were fitted to at most "
        f"{found.model_rows:,} rows of the sample in {found.estimator.cv} folds, and none predicts a row that it was "
        "fitted to. Intervals take the models as given."
    )


def proof(found: OnePass) -> str:
    """Return what the search has proved."""
    if found.estimator.optimal_:
        return "It is proved that no rule of its class has a better value on the rows it was learnt from."
    return f"The search was cut short: no rule of its class has a better value than {found.estimator.lower_bound_:.6g}."


def optimism(found: OnePass) -> str:
    """Return why the value of the rule is too good, and whose intervals hold nevertheless."""
    unit = "reward" if found.learnt.maximise else "cost"
    return (
        f"Mean {unit} by the scores. The rule was chosen because it looks best on the rows that it was learnt from, so "
        "its own value there looks better than it is. Its interval holds for all rules of its class at once, so "
        "nevertheless; those of the other lines are not chosen and have no such flaw."
    )
