"""Environments of the package coba: its synthetic simulations, and whatever one of its template files describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from milpcb.checks import check_file, context_array
from milpcb.environments.replay import ReplayStream
from milpcb.environments.stream import check_opening
from milpcb.errors import InputError, cause, did_you_mean, shown
from milpcb.extras import needs
from milpcb.protocols import PolicyClass
from milpcb.rng import check_seed
from milpcb.types import Floats

DEFAULTS = {"n_actions": 3, "n_context_features": 5, "n_action_features": 0}


@dataclass(frozen=True)
class Coba:
    """An environment of coba (https://coba.readthedocs.io, version 8.1) that knows the reward of every action.

    Shows what learners do in the worlds that others publish curves for. A reward r becomes the cost (most - r) / (most - least).
    Contexts are flattened to numbers, categories one by one to 0/1. Actions are numbered as coba lists them, so all rounds must
    offer the same ones; their features are not looked at. The contexts are known in advance, the costs are not.

    Parameters
    ----------
    maker : what follows ``from_`` in the name of a method of coba.Environments that takes n_interactions and a seed, such as
        "mlp_synthetic"; it gets the horizon and the seed of the run
    options : the other arguments of that method; the default is 3 actions without features, 5 context features
    template : a template file of coba in the place of ``maker``, with one environment; its rounds are the same for every seed
    least, most : the range of its rewards

    Raises
    ------
    InputError (a maker or a template that coba does not take, rewards of one action only or out of range, other actions in
    another round, contexts that are no numbers), ExtraMissingError (coba is not installed)

    """

    file_options: ClassVar[tuple[str, ...]] = ("template",)

    maker: str = "mlp_synthetic"
    options: dict[str, Any] = field(default_factory=DEFAULTS.copy)
    template: str | None = None
    least: float = 0.0
    most: float = 1.0

    feature_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not self.least < self.most:
            raise InputError(
                f"least = {self.least} must be below most = {self.most}: they are the range of the rewards"
            )

    @property
    def n_actions(self) -> int:
        """Number of actions of the first round."""
        return len(_actions(self._read(1, 0)[0]))

    @property
    def action_names(self) -> tuple[str, ...]:
        """What coba calls the actions, where these are texts."""
        actions = _actions(self._read(1, 0)[0])
        return tuple(map(str, actions)) if all(isinstance(action, str) for action in actions) else ()

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> ReplayStream:
        """Return the rounds of one seed; raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        rounds = self._read(horizon, check_seed(seed))
        if len(rounds) < horizon:
            raise InputError(
                f"the horizon is {horizon}, but the environment has {len(rounds)} rounds; lower the horizon"
            )
        actions = _actions(rounds[0])
        for t, shown_round in enumerate(rounds):
            if _actions(shown_round) != actions:
                raise InputError(
                    f"round {t + 1} offers other actions than round 1, and policies know actions by their numbers; where coba "
                    "draws their features set n_action_features = 0"
                )
        contexts = context_array([numbers(shown_round.get("context")) for shown_round in rounds])
        distinct, rows = np.unique(contexts, axis=0, return_inverse=True)
        distinct.setflags(write=False)
        return ReplayStream(distinct, rows.reshape(-1).astype(np.int64), self._costs(rounds))

    def _costs(self, rounds: Sequence[Mapping[str, Any]]) -> Floats:
        """Return (T, K)."""
        rewards = np.array([[float(one["rewards"](action)) for action in one["actions"]] for one in rounds])
        outside = np.argwhere((rewards < self.least) | (rewards > self.most))
        if len(outside):
            t, action = outside[0]
            raise InputError(
                f"the reward of action {action} in round {t + 1} is {rewards[t, action]:g}, outside {self.least:g} to {self.most:g}; "
                f"over all rounds they lie in {rewards.min():g} to {rewards.max():g}: set least and most to what they can be"
            )
        return (self.most - rewards) / (self.most - self.least)

    def _read(self, rounds: int, seed: int) -> list[Mapping[str, Any]]:
        """Return at most ``rounds`` rounds, with the rewards of all actions."""
        if self.template is not None:
            check_file(Path(self.template))
        found = _interactions(self.maker, self.options, self.template, rounds, seed)
        if not found:
            raise InputError("this environment of coba has no rounds")
        if not all(callable(one.get("rewards")) for one in found):
            raise InputError(
                "this environment of coba does not know the reward of every action, which regret is measured with"
            )
        return found


def _interactions(
    maker: str, options: Mapping[str, Any], template: str | None, rounds: int, seed: int
) -> list[Mapping[str, Any]]:
    """Return the first rounds of an environment as coba makes them; raises InputError with what coba raises."""
    with needs("coba", "the environment 'coba'"):
        from coba import Environments

    makers = [name.removeprefix("from_") for name in dir(Environments) if name.endswith("_synthetic")]
    if template is None and maker not in makers:
        raise InputError(f"coba has no maker {shown(maker)}{did_you_mean(maker, makers)}")
    try:
        if template is None:
            made: Any = getattr(Environments, f"from_{maker}")(rounds, seed=seed, **options)
        else:
            made = Environments.from_template(template)
        found = [list(islice(environment.read(), rounds)) for environment in islice(made, 2)]
    except Exception as error:
        raise InputError(f"coba cannot make this environment: {cause(error)}") from error
    if len(found) != 1:
        raise InputError(f"{template} describes {len(made)} environments; give a template of one")
    return found[0]


def _actions(one: Mapping[str, Any]) -> list[Any]:
    """Return the actions that a round offers; raises InputError where they cannot be listed."""
    if not one.get("actions"):
        raise InputError("this environment of coba lists no actions: a policy chooses among a fixed number of them")
    return list(one["actions"])


def numbers(context: Any) -> list[float]:
    """Return a context as a flat list of numbers; one of none at all is a 0."""
    if context is None:
        return [0.0]
    if hasattr(context, "as_onehot"):  # a category, which is a text too
        return [float(bit) for bit in context.as_onehot]
    if isinstance(context, (str, Mapping)) or not isinstance(context, (int, float, Iterable)):
        raise InputError(
            f"contexts must be numbers, categories or lists of them, got {shown(context)}; encode them in the template"
        )
    if isinstance(context, (int, float)):
        return [float(context)]
    return [number for part in context for number in numbers(part)]
