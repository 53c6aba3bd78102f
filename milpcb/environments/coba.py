"""Environments of the package coba: its synthetic simulations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from milpcb.core.checks import check_range, choice
from milpcb.core.extras import needs
from milpcb.environments.replay import ReplayStream, distinct_rows
from milpcb.environments.stream import check_opening
from milpcb.errors import InputError, cause, shown
from milpcb.protocols import PolicyClass
from milpcb.rng import check_seed
from milpcb.types import Floats

# The methods of coba.Environments that take a number of rounds and a seed, without ``from_``.
MAKERS = ("bandit_synthetic", "kernel_synthetic", "linear_synthetic", "mlp_synthetic", "neighbors_synthetic")
DEFAULTS = {"n_actions": 3, "n_context_features": 5, "n_action_features": 0}


@dataclass(frozen=True)
class Coba:
    """An environment of coba (https://coba.readthedocs.io, version 8.1) that knows the reward of every action.

    Shows what learners do in the worlds that others publish curves for. A reward r in [least, most] becomes the cost
    (most - r) / (most - least). Contexts are flattened to numbers, categories one by one to 0/1. Actions are numbered
    as coba lists them, so all rounds must offer the same ones; their features are not looked at.

    Parameters
    ----------
    maker : "bandit_synthetic", "kernel_synthetic", "linear_synthetic", "mlp_synthetic" or "neighbors_synthetic": what
        follows ``from_`` in the name of a method of coba.Environments; it gets the horizon and the seed of the run
    options : the other arguments of that method; the default is 3 actions without features, 5 context features
    reward_range : the least and the greatest reward

    """

    maker: str = "mlp_synthetic"
    options: dict[str, Any] = field(default_factory=DEFAULTS.copy)
    reward_range: tuple[float, float] = (0.0, 1.0)

    feature_names: ClassVar[tuple[str, ...]] = ()
    action_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        choice("maker of coba", self.maker, MAKERS)
        check_range("reward_range", self.reward_range)
        if not isinstance(self.options, Mapping):
            raise InputError(f"options must be a table of arguments by name, got {shown(self.options)}")

    @property
    def n_actions(self) -> int:
        """Number of actions of the first round."""
        return len(self._read(1, 0)[0]["actions"])

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> ReplayStream:
        """Return the rounds of one seed; raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        rounds = self._read(horizon, check_seed(seed))
        other = [t for t, one in enumerate(rounds, 1) if list(one["actions"]) != list(rounds[0]["actions"])]
        if other:
            raise InputError(
                f"round {other[0]} offers other actions than round 1, and policies know actions by their numbers; "
                "where coba draws their features set n_action_features = 0"
            )
        return ReplayStream(*distinct_rows([numbers(one.get("context")) for one in rounds]), self._costs(rounds))

    def _costs(self, rounds: list[Any]) -> Floats:
        """Return (T, K)."""
        rewards = np.array([[float(one["rewards"](action)) for action in one["actions"]] for one in rounds])
        least, most = self.reward_range
        if rewards.min() < least or rewards.max() > most:
            raise InputError(
                f"rewards lie in {rewards.min():g} to {rewards.max():g}, outside {least:g} to {most:g}: "
                "set reward_range to what they can be"
            )
        return np.asarray((most - rewards) / (most - least))

    def _read(self, rounds: int, seed: int) -> list[Any]:
        """Return so many rounds as coba makes them; raises InputError with what coba raises."""
        with needs("coba", "the environment 'coba'"):
            from coba import CobaContext, Environments

        CobaContext.search_paths = [Path.home()]  # a .coba of the current folder would name where data sets are cached
        try:
            (made,) = getattr(Environments, f"from_{self.maker}")(rounds, seed=seed, **self.options)
            return list(islice(made.read(), rounds))
        except Exception as error:  # makers of coba may raise anything
            raise InputError(f"coba cannot make this environment: {cause(error)}") from error


def numbers(context: Any) -> list[float]:
    """Return a context as a flat list of numbers; one of none at all is a 0."""
    return [0.0] if context is None else list(_flat(context))


def _flat(context: Any) -> Iterator[float]:
    if hasattr(context, "as_onehot"):  # a category, which is a string too
        yield from map(float, context.as_onehot)
    elif isinstance(context, (int, float)):
        yield float(context)
    elif isinstance(context, (str, Mapping)) or not isinstance(context, Iterable):
        raise InputError(f"contexts must be numbers, categories or lists of them, got {shown(context)}; encode them")
    else:
        for part in context:
            yield from _flat(part)
