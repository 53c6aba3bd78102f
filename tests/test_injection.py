"""Dependency injection: constructors get what they name, and say what they take."""

from __future__ import annotations

import pytest

from milpcb.errors import InputError
from milpcb.plugins import injection


class Part:
    """A part that asks for an oracle and has two options.

    More of it.
    """

    def __init__(self, oracle: str, rate: float = 0.5, *, count: int = 2) -> None:
        if rate < 0:
            raise KeyError("rate")
        self.made = (oracle, rate, count)


def test_what_is_named_is_given_and_the_rest_is_not():
    """Supplied arguments come by name; those that nobody names are left out."""
    assert injection.make(Part, {"oracle": "o", "pool": "p"}, {"count": 3}).made == ("o", 0.5, 3)
    assert list(injection.options(Part, ("oracle",))) == ["rate", "count"]
    assert injection.asks(Part, "oracle")
    assert not injection.asks(Part, "pool")
    assert injection.summary(Part) == "A part that asks for an oracle and has two options."


def untyped(a, b=1):
    """Return nothing."""


def anything(*several, **named):
    """Return nothing."""


def nowhere(a: Nowhere) -> None:  # noqa: F821 - that is the point
    """Return nothing."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (lambda options=options: injection.make(Part, {"oracle": "o"}, options), line)
            for options, line in (
                ({"cont": 3}, "Part has no option 'cont'; did you mean 'count'?"),
                ({"oracle": "mine"}, "Part has no option 'oracle'"),
                ({"rate": -1.0}, r"Part cannot be made: .*, line \d+: KeyError: 'rate'"),
            )
        ),
        (lambda: injection.make(Part, {}), "^Part needs '[a-z]+' as options$"),
        (lambda: injection.types(untyped), "untyped does not declare the type of its argument 'a'"),
        (lambda: injection.arguments(anything), "anything must name all its arguments"),
        (lambda: injection.types(nowhere), "annotations of nowhere cannot be read: .*'Nowhere' is not defined"),
    ],
)
def test_a_mistake_is_one_line(call, message):
    """Whatever a constructor does or does not declare, the message names it."""
    with pytest.raises(InputError, match=message):
        call()
