"""The driver of checks that draw numbered cases of several classes, compare, count, and print what is wrong."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

_Case = TypeVar("_Case")


def check_cases(
    description: str | None,
    classes: Iterable[str],
    draw: Callable[[str, np.random.Generator], _Case],
    check: Callable[[_Case], Iterator[tuple[str, str]]],
    events: Iterable[str],
) -> None:
    """Check the cases that the command line asks for, print how much was compared for each class, and exit.

    Parameters
    ----------
    description : what ``--help`` says
    classes : names, which the cases go round
    draw : makes the case of a class
    check : yields each thing that was compared, as one of ``events``, and what is wrong with it, or nothing
    events : the columns of the table; "cases" and "wrong" are counted here

    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    names, counts = list(classes), defaultdict[str, Counter[str]](Counter)
    for number in range(options.first, options.first + options.cases):
        name = names[number % len(names)]
        counts[name]["cases"] += 1
        for event, wrong in check(draw(name, np.random.default_rng(number))):
            counts[name][event] += 1
            if wrong:
                counts[name]["wrong"] += 1
                print(f"case {number}, {name}: {wrong}", flush=True)
    table = Table("class", *events)
    for name, count in counts.items():
        table.add_row(name, *(f"{count[event]:,}" for event in events))
    Console(width=120).print(table)
    raise SystemExit(int(any(count["wrong"] for count in counts.values())))
