"""Refusals: a wrong argument ends in an error of its class, whose one line names the argument."""

from collections.abc import Callable

import pytest

from milpcb.errors import InputError


def refused(call: Callable[[], object], *named: str, error: type[Exception] = InputError) -> None:
    """Check that a call is refused, and that the one line of the error has all that is to be named."""
    with pytest.raises(error) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line
    assert [name for name in named if name not in line] == [], line
