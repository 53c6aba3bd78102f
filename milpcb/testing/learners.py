"""Requirements of every learner, whatever its algorithm: the contract of ``Learner``, bit for bit.

Learners play instances of a few contexts, whose oracle lists its policies and so answers every query. What the base
class enforces in every round (q is a distribution, rounds are in order) fails whichever check meets it first.
"""

import inspect
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.plugins import injection, registry
from milpcb.testing import Check, Unmet, laws
from milpcb.testing.scenarios import HORIZON, N_ACTIONS, Make, Scenario, finish_round, instances, transcript
from milpcb.types import Floats

ONCE = ("guarded", "refusals", "declared", "capability", "settings")  # for the first instance alone


def battery(entry: str | Make) -> list[Check]:
    """Return every check of a registered learner, or of a learner class.

    A class with required options is given as ``functools.partial(MyLearner, option=...)``.
    """
    make: Make = registry.load("learner", entry) if isinstance(entry, str) else entry
    supplied = registry.KINDS["learner"].supplied
    missing = [name for name, asked in injection.options(make, supplied).items() if asked.default is asked.empty]
    if missing:
        raise InputError(
            f"the learner needs {', '.join(missing)}: hand over functools.partial(TheLearner, {missing[0]}=...)"
        )
    every = instances()
    checks = [
        Check(f"{instance.name}: {name}", partial(_run, check, make, instance))
        for instance in every
        for name, check in CHECKS.items()
        if name not in ONCE
    ]
    return checks + [Check(name, partial(_run, CHECKS[name], make, every[0])) for name in ONCE]


def _run(check: Callable[[Make, Scenario], None], make: Make, instance: Scenario) -> None:
    """Run a check; what the base class refuses is a mistake of the learner too."""
    try:
        check(make, instance)
    except InputError as error:
        raise AssertionError(str(error)) from error


def check_made(make: Make, instance: Scenario) -> None:
    """The constructor called that of the base class, with the oracle and the horizon it was given."""
    learner = instance.learner(make)
    asked = injection.arguments(make)
    assert "ledger" in vars(learner), "its __init__ does not call super().__init__(...)"
    if "oracle" in asked:
        assert learner.oracle is not None, "its __init__ does not hand the oracle to super().__init__"
    if "horizon" in asked:
        assert learner.horizon == HORIZON, "its __init__ does not hand horizon= to super().__init__"


def check_distribution(make: Make, instance: Scenario) -> None:
    """Every q is a distribution over the K actions, as floats."""
    learner = instance.learner(make)
    assert learner.n_actions == N_ACTIONS, learner.n_actions
    q = learner.act(int(instance.rows[0]))
    assert isinstance(q, np.ndarray), q
    assert q.dtype == np.float64, q.dtype
    assert q.shape == (N_ACTIONS,), q.shape
    played, _ = transcript(instance.learner(make), instance)
    assert np.isfinite(played).all(), played
    assert played.min() >= 0.0, played
    assert np.allclose(played.sum(axis=1), 1.0, atol=1e-9), played.sum(axis=1)


def check_same_seed(make: Make, instance: Scenario) -> None:
    """Two learners of one seed play the same bytes, also while a third is at work."""
    alone, _ = transcript(instance.learner(make), instance)
    pair = [instance.learner(make) for _ in range(2)]
    by_turns = [[transcript(learner, instance, t, t + 1)[0] for learner in pair] for t in range(HORIZON)]
    for played in zip(*by_turns, strict=True):
        _same(alone, np.concatenate(played), "two learners of one seed")


def check_restore(make: Make, instance: Scenario) -> None:
    """A learner restored from its state, as JSON, goes on bit-identically; a state handed out no longer changes."""
    for cut in (0, 1, HORIZON // 2, HORIZON - 1):
        first, second = instance.learner(make), instance.learner(make)
        transcript(first, instance, 0, cut)
        state = first.state()
        written = json.dumps(state)
        expected, _ = transcript(first, instance, cut)
        assert json.dumps(state) == written, f"the state of round {cut} changed when play went on"
        second.restore(json.loads(written))
        assert json.dumps(second.state()) == written, f"restored in round {cut}, its state is another"
        _same(
            expected,
            transcript(second, instance, cut)[0],
            f"restored in round {cut} (is a generator missing in kept?)",
        )


def check_guarded(make: Make, instance: Scenario) -> None:
    """Nothing that is done to a q handed out changes later play."""
    learner = instance.learner(make)
    expected, actions = transcript(instance.learner(make), instance)
    for t, action in enumerate(actions.tolist()):
        q = learner.act(int(instance.rows[t]))
        _same(expected[t], q, f"after others were overwritten, round {t}")
        before = q.copy()
        if q.flags.writeable:
            q[:] = np.nan
        finish_round(learner, int(instance.rows[t]), instance.costs[t], before, action)


def check_unplayed_costs(make: Make, instance: Scenario) -> None:
    """Costs of actions that were not played do not matter: they may as well be NaN."""
    learner = instance.learner(make)
    if learner.full_information:
        raise Unmet("this learner is shown every cost")
    expected, actions = transcript(learner, instance)
    hidden = np.full_like(instance.costs, np.nan)
    every = np.arange(HORIZON)
    hidden[every, actions] = instance.costs[every, actions]
    blind = Scenario(instance.name, instance.labelings, instance.rows, hidden, instance.draws)
    _same(expected, transcript(instance.learner(make), blind)[0], "with unplayed costs NaN")


def check_bounds(make: Make, instance: Scenario) -> None:
    """The guarantee is 0 or more, perhaps infinite, the oracle error finite and 0 or more, before and after play."""
    learner = instance.learner(make)
    for _ in range(2):
        guarantee, error = learner.guarantee(), learner.oracle_error()
        assert isinstance(guarantee, float), guarantee
        assert guarantee >= 0.0, guarantee
        assert 0.0 <= error < np.inf, error
        transcript(learner, instance, 0, HORIZON // 2)


def check_declared(make: Make, instance: Scenario) -> None:
    """A learner is a Learner, and has ``_learn_all`` if and only if it declares ``full_information``."""
    learner = instance.learner(make)
    assert isinstance(learner, Learner), type(learner)
    assert isinstance(learner.full_information, bool), learner.full_information
    defines = any("_learn_all" in vars(cls) for cls in type(learner).__mro__ if cls is not Learner)
    assert defines == learner.full_information, f"full_information is {learner.full_information}"


def check_refusals(make: Make, instance: Scenario) -> None:
    """Impossible calls are refused with InputError and change nothing: play goes on as if none had been made."""
    expected, actions = transcript(instance.learner(make), instance, 0, 6)
    learner, n_rows = instance.learner(make), instance.labelings.shape[1]
    # Whether the learner knows how many contexts there are.
    bounded = not {"oracle", "contexts", "best"}.isdisjoint(inspect.signature(make).parameters)
    for t, action in enumerate(actions.tolist()):
        row, costs = int(instance.rows[t]), instance.costs[t]
        right = (row, action, float(costs[action]), float(expected[t, action]))
        for wrong in (right, (row, 0, 0.0, 1.0)):
            assert _refusal(learner.learn, *wrong) is not None, "learn before act was taken"
        for bad_row in (-1, *[n_rows] * bounded, 0.0, "0", None, True):
            assert _refusal(learner.act, bad_row) is not None, f"act({bad_row!r}) was taken"
        _same(expected[t], learner.act(row), f"after refusals, round {t}")
        for place, bad in _BAD_FEEDBACK:
            wrong = (*right[:place], bad, *right[place + 1 :])
            assert _refusal(learner.learn, *wrong) is not None, f"learn{wrong} was taken, where {right} is right"
        assert _refusal(learner.act, row) is not None, "act was taken twice"
        finish_round(learner, row, costs, expected[t], action)


def check_certificate(make: Make, instance: Scenario) -> None:
    """Certificate, its error and ``policy()`` are those of all policies one by one, and asking changes no later play.

    The estimates are those that ``_learn`` returns, 0 or more, or else c / q; a learner without an oracle is handed
    one.
    """
    expected, actions = transcript(instance.learner(make), instance)
    learner = instance.learner(make)
    oracle = None if learner.oracle is not None else instance.oracle()
    rounds = np.arange(HORIZON)
    costs = instance.costs[rounds, actions]
    estimates, q = costs / expected[rounds, actions], np.empty_like(expected)
    own: list[float | None] = []
    algorithm = learner._learn  # noqa: SLF001 - what it returns is the estimate

    def recorded(row: int, action: int, cost: float, probability: float) -> float | None:
        own.append(algorithm(row, action, cost, probability))
        return own[-1]

    learner._learn = recorded  # type: ignore[method-assign]  # noqa: SLF001 - to see what it keeps
    plays = instance.labelings[:, instance.rows] == actions  # (N, T)
    for t in range(HORIZON):
        q[t] = transcript(learner, instance, t, t + 1)[0]
        estimates[t] = estimates[t] if own[t] is None else own[t]
        if t % 7 and t + 1 < HORIZON:
            continue
        assert estimates[t] >= 0.0, f"round {t}: an estimate of {estimates[t]}"
        terms = costs[: t + 1] - plays[:, : t + 1] * estimates[: t + 1]  # (N, t + 1)
        found = learner.certify(oracle)
        assert found.policy is not None
        best = (instance.labelings == found.policy.predict(instance.contexts)).all(axis=1).argmax()
        assert np.isclose(found.value, terms.sum(axis=1).max(), rtol=1e-9, atol=1e-9), (found, terms.sum(axis=1))
        assert np.isclose(terms[best].sum(), found.value, rtol=1e-9, atol=1e-9), "policy() is not the certificate's"
        assert np.isclose(found.error, np.sqrt((terms[best] ** 2).sum()), rtol=1e-9, atol=1e-9), found
        assert (learner.certificate(oracle), learner.certificate_error(oracle)) == found[:2]
    _same(expected, q, "with certificates asked for")


def check_capability(make: Make, instance: Scenario) -> None:
    """On an oracle that cannot answer, the constructor raises InputError, which names the kind that can."""
    if "oracle" not in injection.arguments(make):
        raise Unmet("this learner has no oracle")
    message = _refusal(instance.learner, make, oracle=_Mute())
    assert message is not None, "it was made with an oracle that answers nothing"
    assert "kind" in message, message


def check_settings(make: Make, instance: Scenario) -> None:
    """Options go by name; what is no horizon, seed, oracle or pool raises InputError."""
    asked = inspect.signature(make).parameters
    by_place = [name for name, p in asked.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    options = [name for name in by_place if name not in ("oracle", "pool", "contexts", "n_actions", "best")]
    assert not options, f"{', '.join(options)} can be given by position: write * before them in the constructor"
    for name, values in _BAD_SETTINGS.items():
        for bad in values if name in asked else ():
            if bad is None and asked[name].default is None:
                continue  # it may be left out
            assert _refusal(instance.learner, make, **{name: bad}) is not None, f"{name} = {bad!r} was taken"


# Values that no learner can take instead of a right (row, action, cost, probability): the place, and what stands there.
_BAD_FEEDBACK: list[tuple[int, Any]] = [
    *((0, bad) for bad in (-1, 10**6, 0.0, None, "0")),
    *((1, bad) for bad in (-1, N_ACTIONS, 0.5, None, "0", True)),
    *((2, bad) for bad in (-0.25, 1.25, np.nan, np.inf, None, "0.5", True)),
    *((3, bad) for bad in (0.0, -0.25, 1.25, np.nan, None, "0.5")),
]
_BAD_SETTINGS: dict[str, tuple[Any, ...]] = {
    "horizon": (0, -1, 10.5, np.nan, "10", True),
    "seed": (-1, 0.5, "0", None, True),
    "oracle": (None, "search", 3),
    "pool": (None, "pool", 3),
}


class _Mute:
    """An oracle that answers nothing."""

    capabilities: frozenset[str] = frozenset()
    contexts = np.arange(8.0).reshape(-1, 2)
    n_contexts, n_actions, log_size = 4, N_ACTIONS, 1.0


def _same(expected: Floats, seen: Floats, what: str) -> None:
    played = np.asarray(seen)
    if expected.tobytes() == played.tobytes():
        return
    assert expected.shape == played.shape, (what, expected, seen)
    row = int((expected != played).reshape(len(expected), -1).any(axis=1).argmax())
    raise AssertionError(f"{what}: entry {row} is {played[row]}, and {expected[row]} was expected")


def _refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> str | None:
    """Return the message of the InputError that the call raises, None where it raises none."""
    try:
        call(*arguments, **named)
    except InputError as error:
        return str(error)
    return None


CHECKS = laws(__name__)
