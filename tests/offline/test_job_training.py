"""The National Supported Work trial: training pays, and there is no evidence that choosing whom to train pays more."""

import pytest

from milpcb.offline import evaluate, inference, read_log, scores
from policies import DecisionTrees

FEATURES = ["age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"]


def test_no_evidence_for_targeting():
    """The best tree of depth 2 looks 504 dollars better than training everybody, as it would by chance."""
    data = pytest.importorskip("causaldata").nsw_mixtape.load_pandas().data
    X = data[FEATURES].astype(float)
    names = data.treat.map({0: "nothing", 1: "training"})
    table = scores(read_log(X, names, reward=data.re78, propensity="randomised"))
    (words,) = table.diagnostics.words()
    assert words.startswith("The values rest on a few rare, large outcomes")  # a few earn very much, trained or not
    found = inference(DecisionTrees(2, depth=2, thresholds=15, action_names=table.actions), X, table, draws=200)
    assert found.best_constant == "training"
    assert found.gain == pytest.approx(504, abs=1)
    assert found.p_value > 0.9
    assert found.band.p_value > 0.5
    assert found.lower < 0
    assert "no evidence that treating people differently gives more than always 'training'" in found.words()[2]
    trained = evaluate(table, ["training"] * len(X))
    assert trained.value.value == pytest.approx(6349, abs=2)
    assert trained.gain_over["nothing"].lower > 0
