"""Requirements of every environment: the shapes of the contract, and the same bytes for the same seed."""

from contextlib import suppress
from functools import partial

import numpy as np

from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.protocols import Environment, PolicyClass, Stream
from milpcb.testing import Check, laws
from milpcb.types import Floats, Ints

HORIZON = 200
SEED = 3


def battery(entry: str | Environment) -> list[Check]:
    """Return every check of a registered environment by its defaults, or of the one given; raises InputError."""
    try:
        environment = registry.load("environment", entry)() if isinstance(entry, str) else entry
    except TypeError as error:
        raise InputError(f"'{entry}' has settings without a default; hand over a made one: {error}") from error
    policies = registry.load("policies", "decision_trees")(n_actions=environment.n_actions, depth=1)
    return [Check(name, partial(check, environment, policies, HORIZON, SEED)) for name, check in CHECKS.items()]


def transcript(stream: Stream, rounds: Ints) -> tuple[Ints, Floats]:
    """Return the context rows (n,) and the costs (n, K) of ``rounds`` (n,), read in that order."""
    shown = [(stream.reveal(int(t)), stream.costs(int(t))) for t in rounds]
    return np.array([row for row, _ in shown]), np.array([costs for _, costs in shown])


def check_settings(environment: Environment, policies: PolicyClass, horizon: int, seed: int) -> None:
    """Require that actions and names are known before opening; names are there for all or for none."""
    assert isinstance(environment.n_actions, int), environment.n_actions
    assert environment.n_actions >= 2, environment.n_actions
    d = environment.open(policies, horizon, seed).contexts.shape[1]
    for names, count in ((environment.feature_names, d), (environment.action_names, environment.n_actions)):
        assert all(isinstance(name, str) for name in names), names
        assert len(names) in {0, count}, names


def check_contexts(environment: Environment, policies: PolicyClass, horizon: int, seed: int) -> None:
    """Require a finite, read-only (m, d) table of floats; a known order lists the row of every round."""
    stream = environment.open(policies, horizon, seed)
    contexts = stream.contexts
    assert contexts.ndim == 2, contexts.shape
    assert contexts.dtype == np.float64, contexts.dtype
    assert contexts.size > 0, contexts.shape
    assert np.isfinite(contexts).all(), "contexts are not finite"
    assert not contexts.flags.writeable, "contexts can be written to"
    if stream.order is not None:
        rows, _ = transcript(stream, np.arange(horizon))
        assert np.array_equal(stream.order, rows), (stream.order, rows)


def check_rounds(environment: Environment, policies: PolicyClass, horizon: int, seed: int) -> None:
    """Require of every round a row of the pool, as a plain int, and K costs from 0 to 1, as floats."""
    stream = environment.open(policies, horizon, seed)
    for t in range(horizon):
        row, costs = stream.reveal(t), stream.costs(t)
        assert type(row) is int, (t, row)
        assert 0 <= row < len(stream.contexts), (t, row)
        assert costs.shape == (environment.n_actions,), (t, costs)
        assert costs.dtype == np.float64, (t, costs)
        assert 0.0 <= costs.min() <= costs.max() <= 1.0, (t, costs)


def check_same_seed(environment: Environment, policies: PolicyClass, horizon: int, seed: int) -> None:
    """Require the same bytes from opening twice with one seed."""
    first, again = (environment.open(policies, horizon, seed) for _ in range(2))
    assert first.contexts.tobytes() == again.contexts.tobytes(), "contexts differ"
    _check_alike(transcript(first, np.arange(horizon)), transcript(again, np.arange(horizon)))


def check_rereadable(environment: Environment, policies: PolicyClass, horizon: int, seed: int) -> None:
    """Require that a round reads the same forwards, again, backwards, costs first, and when a caller wrote to it."""
    stream = environment.open(policies, horizon, seed)
    rounds = np.arange(horizon)
    rows, costs = forwards = transcript(stream, rounds)
    _check_alike(forwards, transcript(stream, rounds))
    backwards = transcript(stream, rounds[::-1])
    _check_alike(forwards, (backwards[0][::-1], backwards[1][::-1]))
    for t in (horizon - 1, 0, horizon // 2):
        with suppress(ValueError):  # numpy's answer to a write on a read-only array
            stream.costs(t)[:] = 0.5
        assert np.array_equal(stream.costs(t), costs[t]), t
        assert stream.reveal(t) == rows[t], t


def _check_alike(first: tuple[Ints, Floats], second: tuple[Ints, Floats]) -> None:
    for what, one, other in zip(("rows", "costs"), first, second, strict=True):
        assert one.tobytes() == other.tobytes(), f"{what} differ between two readings"


CHECKS = laws(__name__)
