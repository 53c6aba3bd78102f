"""Every registered policy class, solver, learner and environment passes its battery; what is wrong is caught."""

from functools import partial

import numpy as np
import pytest

from milpcb import open_oracle, testing
from milpcb.environments.planted import Planted
from milpcb.environments.recorded import Replay
from milpcb.learners import BistroPlus, Conservative, ContextualFTPL, Doubling, Exp4, Guarded
from milpcb.plugins import registry
from milpcb.solvers import describe_all, load_solver
from milpcb.testing.instances import Instance, instances
from milpcb.testing.learners import HORIZON, transcript
from milpcb.testing.learners import instances as scenarios
from policies import FiniteClass
from tests import instances as small
from tests.inside import missing_extras
from tests.refused import refused

# These solvers come with the package: where one of them cannot run, that is a failure and no skip.
MUST_RUN = {"highs", "pulp:PULP_CBC_CMD", "scipy"}
SEARCHED = {"action weights", "terms", "side constraints"}
# Laws that a class, or an instance of it, does not follow, by its definition. Any other skip is a failure, and so is a
# law of this table that is followed: that a class lost a capability would otherwise be a skip like these.
UNMET = {
    # limits are kept by a search that keeps no totals
    "decision_trees": {f"{limit}: terms" for limit in ("leaves of two rows", "one feature", "three leaves")},
    "halfspaces": {*SEARCHED, "search", "forbidden actions"}
    | {f"{name}: source code" for name in small.BUILTIN["halfspaces"] if name != "contexts alike"},
    "monotone_rules": SEARCHED,  # actions are ordered; the sum is #P-hard
    "finite_class": {"terms", "source code"},
}
# The only checks of a learner that may be skipped: full information has no unplayed costs, some ask no oracle.
LEARNER_UNMET = {
    "hedge": {"unplayed costs"},
    "uniform": {"capability"},
    "best_in_hindsight": {"capability"},
    "vw": {"capability"},
    "contextualbandits": {"capability"},
}


def policy_checks(name):
    """Every check of a registered policy class."""
    return [check for instance in small.instances(name) for check in testing.battery("policies", instance)]


def solver_checks():
    """One parameter for each check of each solver but the default; one for all of a solver that cannot run here."""
    for info in describe_all():
        if info.name == "highs":
            continue
        if info.missing and info.name not in MUST_RUN:
            yield pytest.param(None, id=info.name, marks=pytest.mark.skip(reason=f"solver {info.missing}"))
            continue
        for check in testing.battery("solver", info.name):
            yield pytest.param(check, id=f"{info.name}, {check}")


def learners():
    """Each registered learner that can run here, and some by other roads through them."""
    missing = missing_extras()
    return {name: name for name in registry.names("learner") if name not in missing} | {
        "doubling in short phases": partial(Doubling, first=7),
        "doubling of exp4": partial(Doubling, inner="exp4", first=7),
        "conservative with much to lose": partial(Conservative, allowance=9.0, baseline=1),
        "conservative in order": partial(Conservative, allowance=9.0, inner="ftpl", options={"epsilon": "adaptive"}),
        "guarded, soon by exp4": partial(Guarded, bound=1.0, inner="uniform"),
        "exp4 anytime": partial(Exp4, rate="anytime"),
        "exp4 adaptive": partial(Exp4, rate="adaptive"),
        "exp4 certified": partial(Exp4, rate="certified"),
        "ftpl adaptive": partial(ContextualFTPL, epsilon="adaptive"),
        "ftpl adaptive by argmin": partial(ContextualFTPL, epsilon="adaptive", queries="argmin"),
        "doubling of ftpl": partial(Doubling, inner="ftpl", first=7),
        "bistro_plus by argmin": partial(BistroPlus, queries="argmin", noise="half"),
        "bistro_plus signed": partial(BistroPlus, queries="profile", noise="signed"),
        "bistro_plus signed by argmin": partial(BistroPlus, queries="argmin", noise="signed"),
    }


def environment_checks():
    """One parameter for each check of each registered environment but replay, which needs files."""
    for name in registry.names("environment"):
        for check in testing.battery("environment", name) if name != "replay" else ():
            yield pytest.param(check, id=f"{name}, {check}")


def unmet(name, check):
    """Tell whether the tables say that a class or learner does not follow a law."""
    return not {*UNMET.get(name, ()), *LEARNER_UNMET.get(name, ())}.isdisjoint({check.id, law(check)})


def law(check):
    """Return the name of a check without that of the instance."""
    return check.id.rpartition(": ")[2]


def run(name, check):
    """Run a check; what is said to be unmet is skipped, and must be."""
    try:
        check.run()
    except testing.Unmet as reason:
        if not unmet(name, check):
            pytest.fail(f"must not be skipped: {reason}")
        pytest.skip(str(reason))
    assert not unmet(name, check), "it is followed now: take it off the table"


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}, {check}")
        for name in registry.names("policies")
        for check in policy_checks(name)
    ],
)
def test_policy_class(name, check):
    """A registered policy class follows the law on its small instances, but for those of a table."""
    run(name, check)


@pytest.mark.parametrize("name", UNMET)
def test_every_exception_is_of_a_check(name):
    """Nothing in the table names a check that there is not."""
    checks = policy_checks(name)
    assert UNMET[name] <= {check.id for check in checks} | {law(check) for check in checks}


@pytest.mark.parametrize("check", testing.battery("solver", "highs"), ids=str)
def test_the_default_solver(check):
    """It keeps the promises of a solver; of all solvers this is the one that quick tests check."""
    check.run()


@pytest.mark.parametrize("check", list(solver_checks()))
def test_solver(check):
    """Every other solver that can run here keeps the promises of a solver."""
    check.run()


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}, {check}")
        for name, entry in learners().items()
        for check in testing.battery("learner", entry)
    ],
)
def test_learner(name, check):
    """A registered learner keeps the contract."""
    run(name, check)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("name", learners())
def test_the_certificate_of_a_learner_is_that_of_all_policies(name, scenario):
    """Certificate, its error and its policy are those of all policies one by one, and asking changes no later play.

    The estimates are those that ``_learn`` returns, 0 or more, or else c / q.
    """
    entry = learners()[name]
    make = registry.load("learner", entry) if isinstance(entry, str) else entry
    expected, actions = transcript(scenario.learner(make), scenario)
    learner = scenario.learner(make)
    oracle = None if learner.oracle is not None else scenario.oracle()
    rounds = np.arange(HORIZON)
    costs = scenario.costs[rounds, actions]
    estimates, q, own = costs / expected[rounds, actions], np.empty_like(expected), []
    algorithm = learner._learn
    learner._learn = lambda *given: own.append(algorithm(*given)) or own[-1]
    plays = scenario.labelings[:, scenario.rows] == actions  # (N, T)
    for t in range(HORIZON):
        q[t] = transcript(learner, scenario, t, t + 1)[0]
        estimates[t] = estimates[t] if own[t] is None else own[t]
        assert estimates[t] >= 0.0
        if t % 7 and t + 1 < HORIZON:
            continue
        terms = costs[: t + 1] - plays[:, : t + 1] * estimates[: t + 1]  # (N, t + 1)
        found = learner.certify(oracle)
        best = (scenario.labelings == found.policy.predict(scenario.contexts)).all(axis=1).argmax()
        assert found.value == pytest.approx(terms.sum(axis=1).max(), rel=1e-9, abs=1e-9)
        assert found.value == pytest.approx(terms[best].sum(), rel=1e-9, abs=1e-9)
        assert found.error == pytest.approx(np.sqrt((terms[best] ** 2).sum()), rel=1e-9, abs=1e-9)
        assert (learner.certificate(oracle), learner.certificate_error(oracle)) == found[:2]
    assert q.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", registry.names("policies"))
def test_an_enumeration_finds_the_least_total(name):
    """Of all labelings of each small instance, on whole costs of both signs."""
    for instance in small.instances(name):
        costs = np.random.default_rng(0).integers(-9, 10, (len(instance.contexts), instance.policies.n_actions))
        totals = costs[np.arange(len(costs)), instance.labelings].sum(axis=1)
        assert open_oracle(instance.policies, instance.contexts, kind="enumeration").value(costs) == totals.min()


@pytest.mark.parametrize("check", list(environment_checks()))
def test_environment(check):
    """A registered environment, with its default settings, keeps the contract."""
    check.run()


def test_a_made_environment_is_an_entry(tmp_path):
    """Settings without a default are given by handing over the environment; by its name alone it is explained."""
    rng, paths = np.random.default_rng(0), [str(tmp_path / name) for name in ("contexts.csv", "costs.csv")]
    for path, table in zip(paths, (rng.random((250, 2)), rng.random((250, 3))), strict=True):
        np.savetxt(path, table, delimiter=",")
    assert testing.run_all("environment", Replay(*paths)) == []
    assert testing.run_all("environment", Planted(n_actions=2, n_contexts=5)) == []
    refused(lambda: testing.battery("environment", "replay"), "hand over a made one")


# ------------------------------------------------------------------- the entry points


def test_a_missing_solver_is_a_skip_with_the_way_out():
    """Every check of a solver that cannot run here is skipped with its advice, none fails."""
    missing = next(info.name for info in describe_all() if info.missing)
    skipped = testing.run_all("solver", missing)
    assert len(skipped) == len(testing.battery("solver", missing))
    assert "install" in skipped[0]


def test_made_objects_are_entries_too():
    """A solver or an instance can be handed over as it is."""
    testing.battery("solver", load_solver("highs"))[0].run()
    instance = Instance("all of two contexts", FiniteClass(np.indices((2, 2)).reshape(2, -1).T, 2), np.eye(2))
    skipped = testing.run_all("policies", instance)
    assert {each.split(": ")[1] for each in skipped} == {"terms", "source code"}  # a list has none


def test_a_list_has_a_battery_by_its_name():
    """It is tried with all labelings; every class of ours is made by its name."""
    skipped = {each.split(": ")[1] for each in testing.run_all("policies", "finite_class")}
    assert skipped == {"terms", "source code"}
    assert [len(instance.labelings) for instance in instances("finite_class")] == [2**5, 3**4]
    assert all(testing.battery("policies", name) for name in registry.names("policies"))


class Secret:
    """A class that nobody can make."""

    def __init__(self, n_actions, secret):
        pass


def test_a_class_that_cannot_be_made_by_itself_needs_instances(monkeypatch):
    """A class with further required arguments and no small() is an error that says what to add."""
    with monkeypatch.context() as patch:
        patch.setattr(registry, "load", lambda _kind, _name: Secret)
        refused(lambda: instances("secret"), "class method small()")
    pair = FiniteClass([[0, 1], [1, 0]], 2)
    monkeypatch.setattr(FiniteClass, "small", lambda: {"pair": (pair, np.eye(2))}, raising=False)
    assert [(instance.name, instance.policies) for instance in instances("finite_class")] == [("pair", pair)]
