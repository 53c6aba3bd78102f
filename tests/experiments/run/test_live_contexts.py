"""Contexts of live play are known by their numbers, not by their bits."""

import numpy as np
import pytest

from milpcb.errors import InputError
from milpcb.experiments.run.player import LiveStream
from policies import FiniteClass


class Shows:
    """A live environment that shows one context."""

    def __init__(self, context):
        self._context = context

    def context(self):
        """Return it."""
        return self._context

    def cost(self, action):
        """Return the cost of an action."""
        return float(action)


def test_minus_zero_is_zero():
    """A context with -0.0 is the one with 0.0, and the other way round; an unknown one is refused."""
    contexts = np.array([[0.0, 1.0], [2.0, -0.0]])
    opened = FiniteClass([[0, 1], [1, 0]], 2).on(contexts)
    for row, shown in ((0, [-0.0, 1.0]), (1, [2.0, 0.0])):
        assert LiveStream(Shows(shown), opened, contexts).reveal(0) == row
    with pytest.raises(InputError, match="policies distinguish from every row"):
        LiveStream(Shows([1.0, 1.0]), opened, contexts).reveal(0)
