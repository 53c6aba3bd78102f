"""How often what a log's page claims is so, on logs whose truth is known: under constraints, and where losses are rare.

    python scripts/checks/claims.py [alike] [nulls] [targeted] [aside] [groups] [rare] [--sets 200] [--draws 200]

alike : an action helps everybody equally; a budget, a guard-rail, parity, all at once and none. Evidence for targeting
    is false in every one of these logs: it is claimed in 6 % of them at most.
nulls : small logs in which no policy gains anything, by several methods: as near p = 0.05 the median of five splits
    counts, p <= 0.05 and evidence for targeting come in 5 % of them at most, tested at 1 % a design.
targeted : whom it helps depends on two features. How often that is found.
aside : the gain of both on rows kept aside, by itself, which is quick.
groups : rows that belong together, every row four times, with and without ``group=``.
rare : a large loss with a small chance, which is paid for in the other rows: under one action, under both alike, only
    among some people, or under one action there and under the other among others. How much of what is claimed holds,
    how often the log says that there are too few losses, and what a large effect is worth beside them.

In each, the intervals of the policy that was chosen are compared with its true value and its true gain over the best
allowed lottery: they hold in 94 % of the logs at least. Prints all counts; ends with 1 where a promise is broken.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from known_truths import EVERYONE, FEATURES, check_parts
from scipy.stats import binom

from milpcb import open_oracle
from milpcb.constraints import Constraint, never, parity, share_at_most
from milpcb.offline import (
    Diagnostics,
    Inference,
    Log,
    State,
    best_reference,
    evaluate,
    inference,
    kept_aside,
    read_log,
    scores,
)
from milpcb.offline.cross_fitting import best_policy
from milpcb.offline.diagnostics import EVENTS
from milpcb.offline.reference import lotteries
from milpcb.rng import child
from milpcb.types import Floats
from policies import DecisionTrees

EVIDENCE = 0.06  # at most, where there is nothing to find
HOLDS = 0.94  # at least
LOSS = 50.0  # standard deviations of all other noise
Rules = Callable[[Floats], list[Constraint]]  # contexts (n, 8) -> constraints on them


def _guard_rail(X: Floats) -> list[Constraint]:
    return [never(1, rows=X[:, 3] == 1)]


def _parity(X: Floats) -> list[Constraint]:
    return [parity(1, X[:, 4], 0.1)]


RULES: dict[str, Rules] = {
    "none": lambda _X: [],
    "a budget": lambda _X: [share_at_most(1, 0.3)],
    "a guard-rail": _guard_rail,
    "parity": _parity,
    "all three": lambda X: [share_at_most(1, 0.3), *_guard_rail(X), *_parity(X)],
}


@dataclass(frozen=True)
class Design:
    """A law of logs: what action 1 adds for each context, the noise, and how many rows of a kind come together."""

    effect: Callable[[Floats], Floats]
    rules: Rules = RULES["none"]
    loss: float = 0.0  # chance of a loss of 50 where ``struck`` is 1; the outcomes there are higher by as much
    struck: Callable[[Floats, Floats], Floats] = lambda _X, action: action  # contexts, actions -> (n,) of 0 and 1
    repeated: int = 1  # rows of a person, who has features, an action and most of the noise for all of them
    grouped: bool = False  # whether the log has the persons
    n: int = 500
    method: str = "dr"
    estimated: bool = False  # whether propensities are

    def log(self, rng: np.random.Generator) -> Log:
        """Return a randomised trial."""
        people = self.n // self.repeated
        X = np.repeat(rng.integers(0, 2, size=(people, FEATURES)).astype(float), self.repeated, axis=0)
        action = np.repeat(rng.integers(0, 2, size=people), self.repeated)
        noise = np.repeat(rng.normal(size=people), self.repeated)
        if self.repeated > 1:
            noise = noise + 0.3 * rng.normal(size=len(X))
        noise = noise + LOSS * self.struck(X, action) * (self.loss - (rng.random(len(X)) < self.loss))
        reward = 0.5 * X[:, 2] + action * self.effect(X) + noise
        group = np.repeat(np.arange(people), self.repeated) if self.grouped else None
        return read_log(X, action, reward=reward, propensity=None if self.estimated else [0.5, 0.5], group=group)

    def value(self, labels: Any) -> float:
        """Return the true value of a policy that plays ``labels`` on EVERYONE."""
        return float((0.5 * EVERYONE[:, 2] + self.effect(EVERYONE) * labels).mean())

    def best_alike(self) -> float:
        """Return the true value of the best allowed lottery."""
        effect = np.column_stack([np.zeros(len(EVERYONE)), self.effect(EVERYONE)]) / len(EVERYONE)
        ways = lotteries(self.rules(EVERYONE), len(EVERYONE), 2)
        values = ways.sums(effect)
        return self.value(np.zeros(len(EVERYONE))) + float((values * ways.best(values)).sum())


def flags(found: Inference, known: Diagnostics, value: float) -> Iterator[str]:
    """Yield what is said of rare losses, and what would be claimed and held without."""
    yield from ["too few losses for gains"] * (not known.enough_events)
    yield from ["for values"] * (known.value_events <= EVENTS)
    yield from ["both p <= 0.05"] * (max(found.p_value, found.band.p_value) <= 0.05)
    holds = found.value.lower <= value <= found.value.upper
    yield from ["value holds, not flagged"] * (known.value_events > EVENTS and holds)


def outcomes(design: Design, found: Inference) -> Iterator[str]:
    """Yield what is so of an inference: its state, and which of its intervals hold."""
    value = design.value(found.policy.predict(EVERYONE))
    gain = value - design.best_alike()
    yield found.state.value
    yield from ["p <= 0.05"] * (found.p_value <= 0.05)
    yield from ["band p <= 0.05"] * (found.band.p_value <= 0.05)
    yield from ["gain holds"] * (found.lower - 1e-9 <= gain <= found.upper + 1e-9)
    yield from ["value holds"] * (found.value.lower <= value <= found.value.upper)
    yield from ["lower > 0"] * (found.lower > 0)
    yield from ["most holds"] * (gain <= found.most + 1e-9)
    aside = found.held_out
    if aside is not None:
        yield from ["aside: gain holds"] * (aside.gain.lower - 1e-9 <= gain <= aside.gain.upper + 1e-9)
        yield from ["aside: value holds"] * (aside.value.lower <= value <= aside.value.upper)
        yield from ["aside: lower > 0"] * (aside.gain.lower > 0)


def counted(name: str, design: Design, n_sets: int, draws: int, depth: int = 2, **options: Any) -> Counter[str]:
    """Return how often each outcome came."""
    found: Counter[str] = Counter()
    for i in range(n_sets):
        log = design.log(child(i, "claims", name))
        table = scores(log, design.method, seed=i)
        claim = inference(
            DecisionTrees(2, depth=depth),
            log.features,
            table,
            draws=draws,
            seed=i,
            constraints=design.rules(log.features),
            **options,
        )
        found.update(outcomes(design, claim))
        found.update(flags(claim, table.diagnostics, design.value(claim.policy.predict(EVERYONE))))
    return found


SHOWN = ("p <= 0.05", "band p <= 0.05", "lower > 0", "gain holds", "value holds", "most holds")
FLAGS = ("too few losses for gains", "for values", "both p <= 0.05", "value holds, not flagged")
ASIDE = ("aside: gain holds", "aside: value holds", "aside: lower > 0")


def report(name: str, found: Counter[str], n_sets: int, *, evidence: bool, promised: bool = True) -> int:
    """Print the counts of a design; return how many promises are broken."""
    states = ", ".join(f"{state.value} {found[state.value]}" for state in State)
    listed = "; ".join(f"{what} {found[what]}" for what in SHOWN)
    print(f"{name:34s} of {n_sets}: {states}; {listed}", flush=True)
    if any(what in found for what in ASIDE):
        print(f"{'':34s} {'; '.join(f'{what} {found[what]}' for what in ASIDE)}", flush=True)
    broken = [what for what in ("gain holds", "value holds", "most holds") if found[what] < HOLDS * n_sets]
    if not evidence and found[State.TARGET.value] > EVIDENCE * n_sets:
        broken.append("evidence where there is nothing to find")
    for what in broken if promised else ():
        print(f"    BROKEN: {what}")
    return len(broken) if promised else 0


def same(X: Floats) -> Floats:
    """Return what an action adds that helps everybody alike."""
    return np.full(len(X), 0.3)


def nothing(X: Floats) -> Floats:
    """Return what an action adds that changes nothing."""
    return np.zeros(len(X))


def different(X: Floats) -> Floats:
    """Return what an action adds that helps those with both features, and harms the others."""
    return 1.3 * X[:, 0] * X[:, 1] - 0.3


def alike(n_sets: int, draws: int) -> int:
    """Check logs in which the effect is the same for all."""
    wrong = 0
    for name, rules in RULES.items():
        design = Design(same, rules)
        found = counted(f"alike {name}", design, n_sets, draws, holdout=0.3)
        wrong += report(f"alike, {name}", found, n_sets, evidence=False)
    found = counted("nothing", Design(nothing), n_sets, draws, holdout=0.3)
    wrong += report("no effect at all", found, n_sets, evidence=False)
    fewer = max(1, n_sets // 10)
    found = counted("alike large", Design(same, n=20_000), fewer, draws)
    return wrong + report("alike, none, 20 000 rows", found, fewer, evidence=False)


NULLS: dict[str, tuple[Design, int]] = {
    "no effect, depth 1": (Design(nothing, n=200), 1),
    "no effect, depth 2": (Design(nothing, n=200), 2),
    "alike, depth 2": (Design(same, n=200), 2),
    "no effect, snips": (Design(nothing, n=200, method="snips"), 2),
    "no effect, estimated": (Design(nothing, n=200, estimated=True), 2),
    "no effect, a budget": (Design(nothing, RULES["a budget"], n=200), 2),
    "alike, a budget": (Design(same, RULES["a budget"], n=200), 2),
    "no effect, groups": (Design(nothing, n=600, repeated=4, grouped=True), 2),
}


def nulls(n_sets: int, draws: int) -> int:
    """Check small logs in which nothing is to be found, for how often it is."""
    wrong, total = 0, 0
    for name, (design, depth) in NULLS.items():
        found = counted(f"nulls {name}", design, n_sets, draws, depth)
        p, verdicts = found["p <= 0.05"], found[State.TARGET.value]
        print(f"{name:34s} of {n_sets}: p <= 0.05 {p}, evidence {verdicts}", flush=True)
        wrong += float(binom.sf(p - 1, n_sets, 0.05)) < 0.01
        total += p
    print(f"p <= 0.05 in {total / (n_sets * len(NULLS)):.2%} of all logs", flush=True)
    return wrong + (float(binom.sf(total - 1, n_sets * len(NULLS), 0.05)) < 0.01)


def targeted(n_sets: int, draws: int) -> int:
    """Check logs in which it depends on two features."""
    wrong = 0
    for name, rules in RULES.items():
        found = counted(f"targeted {name}", Design(different, rules), n_sets, draws, holdout=0.3)
        wrong += report(f"targeted, {name}", found, n_sets, evidence=True)
    return wrong


def groups(n_sets: int, draws: int) -> int:
    """Check logs whose rows come in fours."""
    people = partial(Design, repeated=4, n=1200)
    blind, grouped = (counted("groups", people(same, grouped=known), n_sets, draws) for known in (False, True))
    report("fours, not said", blind, n_sets, evidence=False, promised=False)
    wrong = report("fours, group=", grouped, n_sets, evidence=False)
    found = counted("groups", people(different, grouped=True), n_sets, draws)
    return wrong + report("fours, group=, targeted", found, n_sets, evidence=True)


def among(X: Floats, action: Any) -> Floats:
    """Strike under action 1 who has both features."""
    return np.asarray(X[:, 0] * X[:, 1] * action)


def crossed(X: Floats, action: Any) -> Floats:
    """Strike under action 1 who has both features, and under action 0 who has the second one only."""
    return np.asarray(X[:, 1] * np.where(X[:, 0] == 1, action, 1 - action))


def everywhere(X: Floats, action: Any) -> Floats:
    """Strike under both actions."""
    del action
    return np.ones(len(X))


def larger(X: Floats) -> Floats:
    """Return an effect that is twenty times as large as ``different``."""
    return 20 * different(X)


RARE: dict[str, Design] = {  # in the words of the table of milpcb/offline/README.md
    "under one action, 1 % of its rows": Design(nothing, loss=0.01),
    "under one action, 4 %": Design(nothing, loss=0.04),
    "under one action, 20 %": Design(nothing, loss=0.2),
    "under both, 1 %": Design(nothing, loss=0.01, struck=everywhere),
    "under both, 4 %": Design(nothing, loss=0.04, struck=everywhere),
    "under one, among a quarter, 10 %": Design(nothing, loss=0.1, struck=among),
    "crossed, 10 %": Design(nothing, loss=0.1, struck=crossed),
    "under both, 4 %, a large effect": Design(larger, loss=0.04, struck=everywhere),
    "under one, 4 %, a large effect": Design(larger, loss=0.04),
    "under one, 20 %, a large effect": Design(larger, loss=0.2),
}


def rare(n_sets: int, draws: int) -> int:
    """Check logs with rare, large losses."""
    wrong = 0
    for name, design in RARE.items():
        evidence = design.effect is larger
        found = counted(f"rare {name}", design, n_sets, draws)
        report(f"losses {name}", found, n_sets, evidence=evidence, promised=False)
        print(f"{'':34s} " + "; ".join(f"{what} {found[what]}" for what in FLAGS), flush=True)
        if not evidence and found[State.TARGET.value] > EVIDENCE * n_sets:
            print("    BROKEN: evidence where there is nothing to find")
            wrong += 1
    return wrong


def aside(n_sets: int, draws: int) -> int:
    """Check the interval of the gain on rows kept aside, alone: it needs no draws, so there may be many logs."""
    del draws
    wrong = 0
    for effect in (different, same):
        for name, rules in RULES.items():
            holds = sum(_holds_aside(Design(effect, rules), child(i, "aside", name), i) for i in range(n_sets))
            print(f"{effect.__name__}, {name:20s} of {n_sets}: gain holds {holds}", flush=True)
            wrong += holds < HOLDS * n_sets
    return wrong


def _holds_aside(design: Design, rng: np.random.Generator, seed: int) -> bool:
    """Return whether the interval of the gain of the best tree holds on rows that it was not learnt from."""
    log = design.log(rng)
    table, constraints = scores(log, seed=seed), design.rules(log.features)
    oracle = open_oracle(DecisionTrees(2, depth=2), log.features, kind="search", constraints=constraints)
    left = kept_aside(log, 0.3, seed)
    policy = best_policy(oracle, np.where(left[:, None], 0.0, table.costs))
    rows, everyone = np.flatnonzero(left), policy.predict(EVERYONE)
    played = [log.actions[k] for k in policy.predict(log.features[rows]).tolist()]
    found = evaluate(table.take(rows), played, reference=best_reference(table, constraints).on(rows)).gain
    return bool(found.lower - 1e-9 <= design.value(everyone) - design.best_alike() <= found.upper + 1e-9)


PARTS = {"alike": alike, "nulls": nulls, "aside": aside, "targeted": targeted, "groups": groups, "rare": rare}


if __name__ == "__main__":
    sys.exit(check_parts(__doc__, PARTS, sets=200, draws=200))
