"""Seasonal: a few policies are right in a fixed rotation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import whole
from milpcb.environments.chances import Chances, Labelled
from milpcb.environments.planted import Planted
from milpcb.types import Ints


@dataclass(frozen=True)
class Seasonal(Planted):
    """The same few situations come back for ever, which no fixed policy can follow.

    Breaks learners that retrain on a growing past and act on it as if it were the present: their policy is that of the
    year, not of the season. Learners that track may pay less than any fixed policy, so regret can be negative.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    n_seasons : policies planted, one a season, >= 2
    season : rounds of a season, >= 1

    Raises
    ------
    InputError (a setting out of range)

    """

    n_seasons: int = 4
    season: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_seasons", self.n_seasons, 2)
        whole("season", self.season, 1)

    def n_planted(self, horizon: int) -> int:
        """Return one policy for each season."""
        del horizon
        return self.n_seasons

    def chances(self, labels: Ints, horizon: int, seed: int) -> Chances:
        """Return the policies in rotation."""
        del horizon, seed
        return Labelled(Rotation(labels, self.season), self.n_actions, self.cost_right, self.cost_wrong)


@dataclass(frozen=True)
class Rotation:
    """``labels`` (S, m): right actions of each season, ``season`` rounds long."""

    labels: Ints
    season: int

    def __call__(self, rounds: Ints, rows: Ints) -> Ints:
        """Return (n,) right actions of the context ``rows`` (n,) at ``rounds`` (n,)."""
        return np.asarray(self.labels[rounds // self.season % len(self.labels), rows])
