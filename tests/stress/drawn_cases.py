"""Numbered random cases of several classes: each is drawn, checked, and counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

_Case = TypeVar("_Case")


def check_cases(
    classes: Iterable[str],
    draw: Callable[[str, np.random.Generator], _Case],
    check: Callable[[_Case], Iterator[tuple[str, str]]],
    numbers: range,
) -> Counter[str]:
    """Assert that nothing is wrong with the cases of ``numbers``; return how often each thing was compared.

    Parameters
    ----------
    classes : names, which the cases go round
    draw : makes the case of a class
    check : yields each thing that was compared, and what is wrong with it, or nothing
    numbers : seeds of the cases

    """
    names, counts, wrong = list(classes), Counter[str](), []
    for number in numbers:
        name = names[number % len(names)]
        for event, found in check(draw(name, np.random.default_rng(number))):
            counts[event] += 1
            wrong += [f"case {number}, {name}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)
    return counts
