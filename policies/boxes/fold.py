"""The recursion of box rules, in any semiring.

With (+) for "or" and (x) for "and", the sum over all rules that play a at a context is
    C[a] (+) (+)_b Own[b, a] (x) (+)_{c != a} Other[b, c],
Own being the side of box b that holds the context, Other its other side, C the constants. Read in (min, +) of totals,
it is the profile; read in (log-sum-exp, +) of -rate * totals, it is the log of the sum of exp(-rate * total). Each
labeling of the class has exactly one derivation.
"""

from __future__ import annotations

import numpy as np

from milpcb.types import Floats


def by_action(constants: Floats, own: Floats, other: Floats, add: np.ufunc) -> Floats:
    """Return the sum (K,) over the rules by their action at a context; C is (K,), Own and Other are (K, B)."""
    return np.asarray(add.reduce(np.column_stack([constants, own + rest(other, add)]), axis=1))


def rest(side: Floats, add: np.ufunc) -> Floats:
    """Return (K, B): for each action the sum over the other actions on a ``side`` (K, B) of all boxes."""
    return np.array([add.reduce(np.delete(side, a, axis=0), axis=0) for a in range(len(side))])
