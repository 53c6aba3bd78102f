"""Sentences of a report hold: winners that the seeds distinguish, constraints in words, guarantees that apply."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.line_styles import COLOURS, line_styles
from milpcb.experiments.results.figures.results import FOR_ONE_LAW, OF_ONE_LAW, Results, without_void
from milpcb.experiments.results.figures.words import glossary, verdict
from milpcb.experiments.results.report import report_page, summary_table
from milpcb.plugins import registry

pytestmark = pytest.mark.usefixtures("sketches")

BUDGET = {"constraints": [{"name": "share_at_most", "action": 2, "share": 0.2}]}


def caption(results, name):
    """Return the caption of a figure."""
    (drawing,) = draw(results, [name])
    return drawing.caption


def frame_of(make_frame, regrets, environments=("planted",)):
    """Return curves of learners whose final regret in each seed is given."""
    seeds = range(len(next(iter(regrets.values()))))
    frame = make_frame(list(regrets), environments=environments, seeds=seeds)
    for (learner, values), seed in ((item, seed) for item in regrets.items() for seed in seeds):
        chosen = (pl.col("learner") == learner) & (pl.col("seed") == seed)
        frame = frame.with_columns(regret=pl.when(chosen).then(float(values[seed])).otherwise("regret"))
    return frame.with_columns(guarantee=pl.lit(np.inf))


def test_one_seed_is_no_comparison_over_seeds(make_frame):
    """With one seed no sentence speaks of every seed; it is said that no spread is known, and no panel is won."""
    results = Results(make_frame(["exp4", "uniform"], seeds=[0]), "t")
    assert "every seed" not in caption(results, "finals")
    assert "One seed." in caption(results, "finals")
    assert "One seed: no spread is known." in verdict(results)


def test_a_panel_is_won_only_where_paired_differences_exclude_zero(make_frame):
    """The least mean wins where all seeds agree on the difference, not where their spread hides it."""
    clear = frame_of(make_frame, {"exp4": [10, 50, 90], "uniform": [20, 61, 99]})  # differences 10, 11, 9
    assert "exp4 has the lowest regret" in verdict(Results(clear, "t"))
    assert "significantly" not in verdict(Results(clear, "t"))
    hidden = frame_of(make_frame, {"exp4": [10, 50, 90], "uniform": [60, 20, 99]})  # differences 50, -30, 9
    assert ", not significantly lower than uniform (" in verdict(Results(hidden, "t"))


def test_a_learner_that_is_left_out_at_the_longest_horizon_is_no_winner(make_frame):
    """After as many rounds as the others it might have more regret; against its own guarantee it is counted."""
    frame = make_frame(["exp4", "uniform"], ["planted", "switching"], horizons=[100, 1000])
    short = make_frame(["uniform", "bistro_plus"], ["planted", "switching"], horizons=[100])
    frame = pl.concat([frame, short.filter(pl.col("learner") == "bistro_plus").with_columns(regret=0.5)])
    words = verdict(Results(frame, "t"))
    assert words.startswith("After 1\u202f000 rounds exp4 has the lowest regret in planted, ")
    assert "bistro_plus" not in words
    alone = frame.filter(pl.col("learner") == "bistro_plus", pl.col("environment") == "planted")
    assert verdict(Results(alone, "t")).startswith("After 100 rounds bistro_plus has a regret of 0.50")


def test_every_panel_has_its_own_winner(make_frame):
    """Of two panels one is decided: the sentence names both, and says that the other is not; four are named at most."""
    decided = frame_of(make_frame, {"exp4": [10, 50, 90], "uniform": [20, 61, 99]})
    open_one = frame_of(make_frame, {"exp4": [60, 20, 99], "uniform": [10, 50, 90]}).with_columns(
        environment=pl.lit("switching")
    )
    words = verdict(Results(pl.concat([decided, open_one]), "t"))
    assert "exp4 has the lowest regret in planted, 50.0; uniform has the lowest regret in switching" in words
    assert "50.0, not significantly lower than exp4 (" in words
    many = [decided.with_columns(environment=pl.lit(f"world {i}")) for i in range(4)]
    assert "1 more panels are in the table." in verdict(Results(pl.concat([*many, open_one]), "t"))


def test_constraints_are_said_in_words_wherever_regret_is(make_frame):
    """The subtitle has the rule, the axis what regret is against, and learners without an oracle are named."""
    frame = make_frame(["exp4", "uniform"], points=3)
    results = Results(frame, "t", BUDGET)
    page = report_page(results, "").replace("\u202f", " ")
    assert "Every policy keeps: share_at_most (action = 2, share = 0.2)." in page
    assert "Not bound by this, as they use no oracle: uniform." in page
    assert "Not bound by the side constraints, as they use no oracle: uniform." in str(summary_table(results).caption)
    (drawing,) = draw(results, ["regret"])
    assert drawing.figure.axes[0].get_ylabel() == "regret against the best policy that keeps the constraint"
    free = Results(frame, "t")
    assert "Every policy keeps" not in report_page(free, "")
    assert summary_table(free).caption is None


def test_a_learner_that_need_not_keep_the_constraints_is_no_winner(make_frame):
    """Uniform play has less regret here, but it is not bound by the budget."""
    frame = frame_of(make_frame, {"exp4": [20, 61, 99], "ftpl": [30, 72, 110], "uniform": [1, 2, 3]})
    assert "exp4 has the lowest regret" in verdict(Results(frame, "t", BUDGET))
    assert "uniform has the lowest regret" in verdict(Results(frame, "t"))


def test_void_guarantees_are_left_out_with_a_sentence(make_frame):
    """A guarantee for costs of one law is none where costs switch; in the planted environment it stays."""
    settings = {
        "learners": [{"name": "epsilon_greedy", "label": "greedy"}, {"name": "bistro_plus"}],
        "environment": [{"name": "planted"}, {"name": "switching"}],
    }
    frame = make_frame(["greedy", "bistro_plus"], environments=["planted", "switching"])
    results = Results(without_void(frame, settings), "t", settings)
    finite = results.finals.filter(pl.col("guarantee").is_finite())
    assert set(finite.select("learner", "environment").unique().iter_rows()) == {
        ("greedy", "planted"),
        ("bistro_plus", "planted"),
        ("bistro_plus", "switching"),
    }
    assert "The guarantees of greedy assume i.i.d. costs; they do not apply in switching" in caption(results, "finals")
    assert "do not apply in switching" in dict(glossary(results))["guarantee"]
    assert "do not apply" not in caption(replace(results, settings={}), "finals")


def test_the_lists_of_laws_are_those_of_the_classes():
    """Learners listed as made for one law are those that declare it; environments listed are registered."""
    declared = {name for name in registry.BUILTIN["learner"] if registry.load("learner", name).stochastic}
    assert declared == FOR_ONE_LAW
    assert set(registry.BUILTIN["environment"]) > OF_ONE_LAW


def test_a_colour_is_that_of_the_registered_name():
    """A label changes no colour; variants of one learner have shades of its colour and markers of their own."""
    plain = line_styles(["ilovetoconbandits", "exp4"])
    labelled = line_styles(["ILOVETOCONBANDITS", "exp4"], {"ILOVETOCONBANDITS": "ilovetoconbandits"})
    assert labelled["ILOVETOCONBANDITS"] == plain["ilovetoconbandits"]
    variants = line_styles(["half", "signed", "bistro_plus"], {"half": "bistro_plus", "signed": "bistro_plus"})
    assert variants["bistro_plus"].colour == COLOURS[0]
    assert len({style.colour for style in variants.values()}) == 3
    assert len({style.marker for style in variants.values()}) == 3
    called = line_styles(["BISTRO", "BISTRO+"], {"BISTRO": "bistro_plus", "BISTRO+": "bistro_plus"})
    assert called["BISTRO+"] == line_styles(["bistro_plus"])["bistro_plus"]  # whatever variants are beside it


def test_lines_of_learners_are_solid_and_log_axes_are_said(make_frame):
    """Dashes are certificates and dots guarantees alone; a logarithmic axis carries the words."""
    results = Results(make_frame(["bistro_plus", "uniform", "exp4"]), "t")
    (drawing,) = draw(results, ["regret_loglog"])
    axes = drawing.figure.axes[0]
    assert axes.get_xlabel() == "round (log scale)"
    assert axes.get_ylabel().endswith("(log scale)")
    for style in results.styles.values():
        assert style.line()["linestyle"] == "-"
    (linear,) = draw(results, ["regret"])
    assert linear.figure.axes[0].get_xlabel() == "round"
