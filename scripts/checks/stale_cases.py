"""The queries of stale_code.py, in a process of its own: those of ``milpcb compile``, and some that go further.

It is asked by three words of a command line:

    trace JOB             # of each query its answer, and which of our functions ran
    answer JOB NUMBER     # the answer of one query
    differs < QUERIES     # the first whose answer is not the one given, and whether it fails

The last line is in JSON, and so are the QUERIES, a list of [JOB, NUMBER, answer].
"""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import takewhile
from resource import RLIMIT_CPU, setrlimit
from time import process_time
from typing import Any

import numpy as np

from milpcb import open_oracle
from milpcb.constraints import share_at_most
from milpcb.oracles import compiling
from milpcb.types import Answer
from policies import DecisionTrees, LinearRules

FURTHER = "further queries"
# The slowest without a compiler; all that it runs others run too.
JOBS = [*(job for job in compiling.JOBS if job != "trees of depth 3 on every cut"), FURTHER]
Query = Callable[[], Any]
# Seconds of a core. Without the compiler: queries of a job that are traced, one of a broken kernel, and all of these.
MOST_TRACED, MOST_SECONDS, MOST_TOGETHER = 30, 6, 8
MOST_COMPILED = 60  # a query with the compiler: broken, it may find no end


@cache
def queries(job: str) -> list[Query]:
    return list(further() if job == FURTHER else compiling.queries(job))


def further() -> Iterator[Query]:
    """Yield queries that take other ways through machine code which the others have made already.

    And the sums over a log: they take a second to compile, once for whoever learns from logs.
    """
    rng, m = np.random.default_rng(0), 40
    contexts, costs = rng.integers(0, 5, (m, 3)).astype(float), rng.integers(-9, 10, (m, 4)).astype(float)
    halves = tuple(share_at_most(a, 0.5) for a in range(2))

    def trees(n_actions: int = 3, constraints: Any = (), **options: Any) -> Any:
        policies = DecisionTrees(n_actions, thresholds=2, **options)
        return open_oracle(policies, contexts, kind="search", constraints=constraints)

    yield lambda: trees(depth=4).value(costs[:, :3])
    yield lambda: trees(4, depth=3).value(costs)
    yield lambda: trees(constraints=halves).profile(costs[:, :3], 0)
    yield lambda: trees(constraints=halves).action_weights(costs[:, :3], 0, 0.1)
    # Weights so far apart that the sums of one state have several powers.
    yield lambda: trees(depth=3, max_leaves=5, constraints=halves[:1]).action_weights(costs[:, :3], 0, 20.0)
    # On half of the rows two actions cost 177.2 and 179, between which one power ends and the next begins.
    near = np.tile([2.0, 1.0, 1.01], (m, 1))
    yield lambda: trees(max_leaves=3, constraints=halves[:1]).action_weights(near, 5, 177.2 / 20)
    yield partial(log_sums, rng.integers(0, 2, (3, m)), rng.random(m))
    # Scoring rules whose best is not where the search begins, so that a wrong bound loses it.
    rng = np.random.default_rng(4)
    columns, gains = rng.integers(0, 5, (10, 7)).astype(float), rng.integers(-9, 10, (10, 2)).astype(float)
    rules = LinearRules(2, max_weight=2, thresholds=1)
    yield lambda: open_oracle(rules, columns, kind="search").value(gains)
    # Trees by codes of features of which only those of one leaf are within the limits.
    leaves = DecisionTrees(3, thresholds="all", min_leaf_size=m // 2 + 1)
    many = rng.integers(0, 20, (m, 2)).astype(float)
    yield lambda: open_oracle(leaves, many, kind="search").value(costs[:, :3])
    # Trees on every cut where bounds decide: within limits, and of depth 3.
    rng = np.random.default_rng(0)
    points, prices = rng.integers(0, 10**6, (60, 2)).astype(float), rng.integers(-9, 10, (60, 3)).astype(float)
    for options in ({"min_leaf_size": 15}, {"depth": 3}):
        policies = DecisionTrees(3, thresholds="all", **options)
        yield lambda policies=policies: open_oracle(policies, points, kind="search").value(prices)


def log_sums(codes: Any, outcomes: Any) -> Any:
    """Return the sums over a log of the columns ``codes`` (d, n), by pairs of these."""
    from milpcb.offline.sufficient_statistics import Grid, Known, Statistics  # as slow as all other imports

    statistics = Statistics.empty(Grid((2, 2, 2), 2), 2)
    rows = Known(codes[0].copy(), outcomes, np.full(len(outcomes), 0.5))
    statistics.add_rows(codes.astype(np.int32), rows, 0.01)
    return statistics.cells.tolist()


def answer(query: Query) -> str:
    """Return what a query answers, as text: where it raises an error, that one, behind a question mark."""
    try:
        found = query()
    except Exception as error:  # noqa: BLE001 - a broken kernel may lead anywhere
        return f"? {error!r}"
    return repr(list(map(plain, found)) if isinstance(found, list) else plain(found))


def plain(found: Any) -> Any:
    """Return an answer with all its digits, and without its time."""
    if isinstance(found, Answer):
        return found.lower, found.upper, found.policy
    return found.tolist() if isinstance(found, np.ndarray) else found


def traced(query: Query) -> tuple[str, list[tuple[str, str]]]:
    """Return the answer of a query, and the files and names of all functions that ran."""
    ran = set()
    sys.setprofile(lambda frame, *_: ran.add((frame.f_code.co_filename, frame.f_code.co_name)))
    found = answer(query)
    sys.setprofile(None)
    return found, sorted(ran)


def differs(asked: list[tuple[str, int, str]]) -> tuple[int | None, bool]:
    """Return the place of the first query that answers otherwise, else of one that now fails; and whether it fails.

    Of a job with a query that finds no end no more are made.
    """
    fails, endless = None, set()
    for place, (job, number, before) in enumerate(asked):
        if job in endless:
            continue
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
        now = answer(queries(job)[number])
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if now != before and not now.startswith("?"):
            return place, False
        if "TimeoutError" in now:
            endless.add(job)
        elif now != before and fails is None:
            fails = place
        if process_time() > MOST_TOGETHER:
            break
    return fails, True


def too_long(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    """Answer what the command line asks."""
    what, *asked = sys.argv[1:]
    if what == "trace":
        found: Any = list(takewhile(lambda _: process_time() < MOST_TRACED, map(traced, queries(asked[0]))))
    elif what == "answer":
        setrlimit(RLIMIT_CPU, (MOST_COMPILED, MOST_COMPILED))
        found = answer(queries(asked[0])[int(asked[1])])
    else:
        signal.signal(signal.SIGVTALRM, too_long)
        found = differs(json.load(sys.stdin))
    sys.stdout.write(f"\n{json.dumps(found)}\n")
