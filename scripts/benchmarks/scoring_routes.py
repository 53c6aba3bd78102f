"""Scoring rules with weights on all of many columns of integers: kind "search" beside kind "milp".

    python scripts/benchmarks/scoring_routes.py [--problems 50] [--first 0]

A problem has 40 to 60 rows and 6 to 8 columns of integers from 0 to at most 11; costs are 0 and 1, cheap where a drawn
rule is right, some labels flipped. Kind "search" asks a solver there, as columns have many values. Times are CPU
seconds of one value, the opening of the oracle with it, after one problem that is not counted. Prints each problem with
the ratio of the two times, and at the end the largest ratio and the median.
"""

import argparse
from statistics import median

import bench
import numpy as np

from milpcb import open_oracle
from milpcb.types import Floats
from policies import LinearRules


def main() -> None:
    parser = argparse.ArgumentParser(description='Compare kinds "search" and "milp" on scoring rules.')
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    _times(-1 % 2**32)
    ratios = []
    for number in range(arguments.first, arguments.first + arguments.problems):
        search, milp, what = _times(number)
        ratios.append(search / milp)
        print(f"{number:4} {what}: search {search:7.3f} s, milp {milp:7.3f} s, ratio {ratios[-1]:5.2f}", flush=True)
    print(f"{len(ratios)} problems: largest ratio {max(ratios):.2f}, median {median(ratios):.2f}")


def _times(number: int) -> tuple[float, float, str]:
    """Return the seconds of both kinds, which must agree, and the problem in words."""
    rng = np.random.default_rng(number)
    m, d, most = int(rng.integers(40, 61)), int(rng.integers(6, 9)), int(rng.integers(3, 12))
    contexts = rng.integers(0, most + 1, (m, d)).astype(float)
    score = contexts @ rng.integers(-5, 6, d)
    right = (score >= np.median(score)) ^ (rng.random(m) < rng.choice([0.0, 0.03, 0.06]))
    costs = np.column_stack([right, ~right]).astype(float)
    rules = LinearRules(2, max_weight=5)
    (search, found), (milp, proved) = (_timed(rules, contexts, costs, kind) for kind in ("search", "milp"))
    if found != proved:
        raise SystemExit(f"problem {number}: the search found {found}, the solver proved {proved}")
    return search, milp, f"{m} rows, {d} columns of 0 to {most:2}"


def _timed(rules: LinearRules, contexts: Floats, costs: Floats, kind: str) -> tuple[float, float]:
    return bench.timed(lambda: open_oracle(rules, contexts, kind).value(costs))


if __name__ == "__main__":
    main()
