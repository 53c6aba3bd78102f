"""What the tests share: drawn costs, the battery of a policy class, golden files, processes with all imports done."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.extra.numpy import arrays

from milpcb.protocols import PolicyClass
from milpcb.solvers import load_solver
from milpcb.testing import policies as checks
from milpcb.types import Floats

DEEP = "the search of deep trees, which takes twenty seconds to compile"

# What ./scripts/test --quick leaves out: a folder, a file, or a test in a file; all in it is marked slow. This is
# the order in which it runs, before all else: the longest single tests first, so that none is left for the end.
SLOW = {
    "tests/stress": "drawn cases against definitions, studies that are killed",
    "tests/theory/test_verify_command.py": "games verified in processes of their own",
    "tests/theory/test_one_draw.py": "games with two futures, in rational arithmetic",
    "tests/experiments/run/test_dask.py": "a real scheduler with workers",
    "tests/environments/test_gallery.py": "long plays in every environment",
    "tests/test_hostile.py": "a hundred attacks",
    "tests/test_readmes.py::test_every_snippet_runs_and_prints_what_is_shown": "the programs of the READMEs",
    "tests/test_readmes.py::test_every_config_runs": "the studies of the READMEs",
    "tests/test_benchmarks_run.py": "every benchmark, on small problems",
    "tests/cli": "the command line in processes of its own, whole studies, interrupts",
    "tests/experiments/run/test_backends.py": "pools of processes, some of them killed",
    "tests/experiments/run/test_runs.py": "whole studies",
    "tests/experiments/test_solver_swap.py": "whole studies with every solver",
    "tests/experiments/results/figures/test_commands.py": "whole studies and all their pictures",
    "tests/experiments/results/figures/test_report.py": "whole studies, and a browser",
    "tests/experiments/results/figures/test_pictures.py": "pictures of large studies, measured pixel by pixel",
    "tests/test_constraints.py::test_constrained_classes_answer_as_the_definition": "every class under constraints",
    "tests/policies/test_listed_tables.py::test_the_program_answers_as_the_definition": "full battery on drawn costs",
    "tests/policies/test_every_class.py": "every class on every instance with drawn costs",
    "tests/policies/test_printed_rules.py": "300 rules of a class on several kinds of contexts",
    "tests/policies/test_printed_scores.py": "a hundred rules of a class on several kinds of contexts",
    "tests/policies/test_linear.py": "programs and searches on many instances",
    "tests/policies/test_halfspaces.py": "programs and searches on many instances",
    "tests/policies/test_linear_tables.py": "programs and searches on many instances",
    "tests/policies/test_linear_branching.py": "programs and searches on many instances",
    "tests/policies/test_monotone.py": "programs and searches on many instances",
    "tests/policies/test_side_rows.py": "searches under constraints against lists, kernels compiled for each",
    "tests/policies/test_trees_under.py": "searches under constraints against lists, kernels compiled for each",
    "tests/policies/test_trees_limits.py": "searches under limits against lists, kernels compiled for each",
    "tests/policies/test_trees_cuts.py": "searches by codes and root cuts against lists, kernels compiled for each",
    "tests/oracles/test_units.py": "every kind and solver in every unit",
    "tests/learners/test_signed.py": "every class under several solvers",
    "tests/estimators": "every check of scikit-learn, 10 000 rows through two databases, lists of policies",
    "tests/offline": "models fitted to hundreds of logs",
    "tests/test_kernels.py::test_the_first_question_says_that_it_compiles": "compiles with no code on disk",
    "tests/policies/test_thresholds_search.py::test_search_equals_enumeration": "full lists of policies",
    "tests/policies/test_trees_search.py::test_action_weights_sum_over_derivations": "full lists of policies",
    "tests/policies/test_trees_search.py::test_search_equals_enumeration": "full lists of policies",
    "tests/test_imports.py::test_a_vendor_is_loaded_by_its_own_users_only": "a process for every solver",
    "tests/test_lean_core.py": "a process for everything that the core does",
    "tests/testing/test_batteries.py::test_policy_class": "every law on every instance of every class",
    "tests/testing/test_batteries.py::test_learner": "every law for every learner",
    "tests/testing/test_learner_battery.py": "batteries of learners that are wrong",
    "tests/testing/test_wrong_solvers.py": "batteries of solvers that are wrong",
    "tests/testing/test_plug_ins.py": "batteries in processes of their own",
    "tests/test_compile.py": "every search once, and code compiled anew",
    "tests/test_readme_types.py": "a type checker on every program of the READMEs",
    "tests/theory": "games verified exactly, statements against every adversary",
    "tests/experiments/results/figures/test_figures.py": "pictures of large studies",
    "tests/experiments/results/test_store.py": "studies that are damaged and mended",
    "tests/experiments/results/test_forged.py": "studies that somebody else made",
    "tests/experiments/results/test_curves.py": "whole studies",
    "tests/experiments/run/test_task.py": "plays from saved states that are damaged",
    "tests/testing/test_batteries.py::test_solver": "every law for every solver",
    "tests/solvers": "time limits, and lazily added rows against all rows",
    "tests/logs/test_one_pass.py": "logs of many files, interrupted",
    "tests/policies/test_trees_roots.py": "searches under limits by several routes",
    "tests/policies/test_trees_compiled.py": "kernels counted in processes of their own",
    "tests/policies/test_memory.py": "what is kept of large tables",
    "tests/learners/test_certificates.py": "certificates of many plays",
    "tests/test_benchmarks.py": "peers that the benchmarks compare with",
    "tests/policies/test_definition.py": "every kind of every class, kernels compiled for each",
    "tests/oracles/test_near_best.py": "every class and kind against the list of all policies",
    "tests/policies/test_trees_states.py": DEEP,
    "tests/policies/test_trees_search.py::test_deep_trees_follow_the_recursion": DEEP,
    "tests/policies/test_trees_search.py::test_single_and_double_precision_agree": DEEP,
    "tests/policies/test_trees_search.py::test_answers_do_not_depend_on_what_was_asked_before": DEEP,
    "tests/policies/test_trees_tracing.py::test_a_tree_takes_one_search": DEEP,
    "tests/policies/test_terms.py::test_real_costs_are_answered_as_the_search_does": DEEP,
    "tests/oracles/test_running_totals.py": DEEP,
    "tests/policies/test_linear_each.py": "programs and searches on many instances",
    "tests/policies/test_listed.py::test_a_config_names_a_class_of_its_folder": "a study in processes of its own",
    "tests/experiments/results/figures/test_page.py": "pages of large studies",
    "tests/test_kernels.py::test_python_may_call_what_other_kernels_call": "kernels compiled in a process of their own",
    "tests/test_kernels.py::test_machine_code_is_never_older_than_what_was_compiled_into_it": "kernels compiled anew",
    "tests/test_readmes.py::test_every_command_is_one": "scripts and commands asked for their help",
    "tests/test_gallery.py": "the programs of the gallery",
    "tests/test_adapters.py": "an experiment of coba",
    "tests/test_service_files.py::test_a_fork_while_other_threads_act_and_save_goes_on": "processes that save",
    "tests/test_policies_under_milpcb.py": "processes of their own",
    "tests/test_same_answers.py::test_a_version_answers_as_itself": "two processes that answer forty questions",
    "tests/oracles/test_near_diagrams.py::test_counts_are_exact_where_questions_would_end_early": "full lists of rules",
    "tests/oracles/test_pickled_oracles.py::test_an_oracle_that_has_answered_can_be_pickled": "every class and solver",
    "tests/logs": "pages learnt from logs",
    "tests/policies/test_log_sums.py": "compiled functions called one by one",
    "tests/test_service_learnt_rule.py::test_a_learnt_rule_decides_by_its_own_tests": "rules learnt from a log",
    "tests/test_studies.py": "plays of studies as they are given",
    "tests/learners/test_comparators.py::test_exp4p_keeps_its_guarantee_on_flipping_costs": "many plays",
    "tests/learners/test_anytime.py::test_the_oracle_error_covers_what_was_lost": "many plays",
    "tests/learners/test_epoch_greedy.py::test_regret_is_within_the_guarantee_on_iid_games": "many plays",
    "tests/contexts/test_empirical.py::test_regret_is_close_to_that_with_the_law_known": "many plays",
    "tests/learners/test_bistro_plus.py::test_queries_all_and_profile_play_alike": "every class under several solvers",
    "tests/learners/test_conservative.py::test_estimates_of_mixed_rounds_are_right_on_average": "many plays",
    "tests/learners/test_epsilon_greedy.py::test_regret_is_within_the_guarantee_on_iid_games": "many plays",
    "tests/learners/test_exp4.py::test_mean_regret_stays_below_the_guarantee_on_flips": "many plays",
    "tests/learners/test_ftpl.py::test_regret_is_within_the_guarantee_also_when_costs_switch": "many plays",
    "tests/learners/test_policy_elimination.py::test_the_best_policy_is_never_eliminated": "many plays",
    "tests/learners/test_confident_certificates.py": "many plays",
    "tests/oracles/test_under.py::test_the_search_answers_as_the_solver_and_the_list_do": "every class under a solver",
    "tests/oracles/test_starts.py": "every class under a solver",
    "tests/environments/test_environments.py::test_rounds_of_several_blocks": "many rounds of every environment",
    "tests/experiments/study/test_bounds.py": "bounds of many studies, and their picture",
    "tests/policies/test_drawing.py::test_nothing_meets_in_a_figure": "pictures measured in pixels",
    "tests/policies/test_listed_tables.py::test_the_value_is_the_least_of_the_list": "drawn costs",
    "tests/test_imports.py::test_an_import_against_the_rules_is_found": "every rule broken once",
    "tests/test_text.py::test_every_character_is_escaped_by_its_category": "every character of Unicode",
    "tests/test_walks.py": "the walks of CONTRIBUTING.md, played",
    "tests/environments/test_mirror.py": "environments computed by several processes",
    "tests/policies/test_linear_walks.py": "rules listed, and walks over them",
}

Ended = subprocess.CompletedProcess[str]
FORKS = Path(__file__).with_name("forks.py")
GOLDEN = Path(__file__).parent / "golden"
WHOLE = st.integers(-9, 9).map(float)
REAL = st.floats(-10.0, 10.0, allow_subnormal=False)

# The collection of tests makes no garbage to speak of: looking for it takes a third of its time.
gc.disable()

# No test depends on the speed of the machine. Time-outs elsewhere, of 600 seconds, only end what hangs.
settings.register_profile("milpcb", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("milpcb")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tests/stress, which may be given from any folder."""
    group = parser.getgroup("milpcb")
    group.addoption("--stress", type=int, default=0, metavar="N", help="cases that each check of tests/stress draws")
    group.addoption("--first", type=int, default=0, metavar="N", help="number of the first, of cases taken one by one")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are left out, do not even import their folders and files."""
    place = Path(os.path.relpath(collection_path, config.rootpath)).as_posix()
    return True if config.option.markexpr == "not slow" and place in SLOW else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what the table names, and let it run first."""
    places = [re.compile(rf"{re.escape(place)}(/|::|\[|$)") for place in SLOW]
    position = {item: next((i for i, place in enumerate(places) if place.match(item.nodeid)), None) for item in items}
    for item, i in position.items():
        if i is not None:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: len(places) if (i := position[item]) is None else i)


def pytest_collection_finish() -> None:
    """Leave what the collection made, a million objects, out of every later collection of garbage, the last too."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def slow() -> dict[str, str]:
    """Return the table of what is slow, with the reasons."""
    return SLOW


@pytest.fixture
def sketches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pictures be sketches, but in tests with the mark ``drawn``."""
    if request.node.get_closest_marker("drawn") is None:
        from matplotlib.figure import Figure

        from tests.sketches import sketch

        monkeypatch.setattr(Figure, "savefig", sketch)


@pytest.fixture
def same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a copy of a bandit go on with the draws of the original, so that the two can be compared."""
    monkeypatch.setattr("milpcb.rng.parted", lambda state, _name: state)


@pytest.fixture(scope="session")
def draw_costs() -> Callable[..., Floats]:
    """Return ``draw_costs(data, m, K)``: whole or real costs of both signs."""
    return _draw_costs


@pytest.fixture(scope="session")
def battery() -> Callable[..., None]:
    """Return ``battery(policies, contexts, data, solver)``: every check of a class on drawn costs."""
    return _battery


@pytest.fixture(scope="session")
def assert_integral() -> Callable[..., None]:
    """Return ``assert_integral(policies, contexts, seed)``: the relaxation's optima are whole for any objective."""
    return _assert_integral


@pytest.fixture
def assert_golden() -> Callable[[str, str], None]:
    """Return ``assert_golden(text, name)``: the text is that of tests/golden/<name>."""
    return _assert_golden


def of_python(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter reads when it starts."""
    return {name: value for name, value in variables.items() if name.startswith("PYTHON")}


class Forks:
    """Processes that fork from one that has imported the command line: see forks.py."""

    def __init__(self, folder: Path) -> None:
        self._streams = {name: str(folder / name) for name in ("stdout", "stderr")}
        self._environment = self.environment()
        self._process: subprocess.Popen[str] | None = None

    def fits(self) -> bool:
        """Return whether an interpreter that starts now would find what the first one found."""
        return of_python(self.environment()) == of_python(self._environment)

    @staticmethod
    def environment() -> dict[str, str]:
        """Return the variables that the command line finds: those of this process, and a terminal for every table."""
        return {**os.environ, "COLUMNS": "200", "PYTHONWARNINGS": "default"}

    def run(self, folder: Path, arguments: tuple[str, ...], limits: dict[str, int], **more: Any) -> Ended:
        """Run the command line in a folder to its end, with limits of the system by their names in ``resource``.

        With ``program=`` a Python program, as in ``python -c``; with ``environment=`` other variables; with
        ``sketches=True`` pictures are sketches.
        """
        if self._process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen([sys.executable, FORKS], env=self._environment, cwd=FORKS.parent, **pipes)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for file in self._streams.values():
            Path(file).write_bytes(b"")
        streams = {"stdin": os.devnull, **self._streams}
        call = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": self.environment(),
            "limits": limits,
            **streams,
            **more,
        }
        self._process.stdin.write(f"{json.dumps(call)}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        texts = {name: Path(file).read_text() for name, file in self._streams.items()}
        return subprocess.CompletedProcess(["milpcb", *arguments], code, **texts)

    def close(self) -> None:
        """End the process that they fork from."""
        if self._process is not None:
            self._process.communicate()


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Return what makes processes with all imports done."""
    made = Forks(tmp_path_factory.mktemp("streams"))
    yield made
    made.close()


def _draw_costs(data: st.DataObject, n_contexts: int, n_actions: int) -> Floats:
    elements = data.draw(st.sampled_from([WHOLE, REAL]))
    return data.draw(arrays(np.float64, (n_contexts, n_actions), elements=elements))


def _battery(policies: PolicyClass, contexts: Floats, data: st.DataObject, solver: str = "highs") -> None:
    costs = _draw_costs(data, len(contexts), policies.n_actions)
    row = data.draw(st.integers(0, len(contexts) - 1))
    for check in checks.CHECKS_OF_A_SOLVER:
        check(policies, contexts, costs, solver)
    for check_at in checks.CHECKS_AT_A_ROW:
        check_at(policies, contexts, costs, row, solver)
    checks.check_enumeration(policies, contexts, costs)
    checks.check_draw(policies, contexts, seed=row)


def _assert_integral(policies: PolicyClass, contexts: Floats, seed: int) -> None:
    for constrained in (False, True):
        program = policies.on(contexts).program(constrained=constrained).program
        assert program.integral
        assert program.integer.all()
        session = load_solver("highs").open(program, relax=True)
        for objective in np.random.default_rng(seed).normal(size=(20, program.n_columns)):
            x = session.solve(objective).x
            assert np.abs(x - np.rint(x)).max() < 1e-9, (constrained, x)


def _assert_golden(text: str, name: str) -> None:
    path = GOLDEN / name
    if os.environ.get("MILPCB_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path} is missing: run with MILPCB_UPDATE_GOLDEN=1 and read what it writes"
    assert text == path.read_text(), f"differs from {path}: if meant, run with MILPCB_UPDATE_GOLDEN=1 and read the diff"
