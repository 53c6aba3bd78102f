"""What checks on logs of known truth share: the people that logs are drawn from, and the parts of a command line."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np

FEATURES = 8
EVERYONE = np.array(np.meshgrid(*[[0.0, 1.0]] * FEATURES)).reshape(FEATURES, -1).T  # all contexts, equally likely


def check_parts(
    description: str | None, parts: Mapping[str, Callable[[int, int], int]], *, sets: int, draws: int
) -> int:
    """Check the parts that the command line names, all where none is named; return the exit code.

    Parameters
    ----------
    description : what ``--help`` says
    parts : by name, a function of the number of logs of a design and of the draws of the band; it prints, and returns
        how much is wrong
    sets, draws : where none are asked for

    """
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(parts)}; all where none is named")
    parser.add_argument("--sets", type=int, default=sets, help=f"logs of each design ({sets})")
    parser.add_argument("--draws", type=int, default=draws, help=f"draws of the band ({draws})")
    asked = parser.parse_args()
    wrong = 0
    for name in asked.parts or parts:
        start = time.perf_counter()
        print(f"{name}, {asked.sets} logs of a design", flush=True)
        wrong += parts[name](asked.sets, asked.draws)
        print(f"{name}: {time.perf_counter() - start:.0f} s\n", flush=True)
    return int(wrong > 0)
