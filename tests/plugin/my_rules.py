"""Bands of the first column: the policy class of the README's ten minutes."""

from dataclasses import dataclass

import numpy as np

from policies import ListedRules


@dataclass(frozen=True)
class Band:
    """Play ``below`` up to the cut, ``above`` beyond it."""

    cut: float
    below: int
    above: int

    def predict(self, contexts):
        """Return the action of each context."""
        return np.where(np.asarray(contexts)[:, 0] <= self.cut, self.below, self.above)

    def __str__(self):
        return f"up to {self.cut}: play {self.below}, above: play {self.above}"


class Bands(ListedRules):
    """Every band with one of these cuts."""

    def __init__(self, n_actions: int, cuts: tuple[float, ...] = (0.5,)) -> None:
        super().__init__(n_actions)
        self.cuts = cuts

    def policies(self, contexts):
        """List them."""
        del contexts
        for cut in self.cuts:
            for below in range(self.n_actions):
                for above in range(self.n_actions):
                    yield Band(cut, below, above)
