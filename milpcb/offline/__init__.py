"""What a policy is worth, from a log: scores, the values of fixed policies, and what holds after a search."""

from milpcb.offline.band import Claim
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.evaluate import Evaluation, LeafValue, cross_evaluate, evaluate
from milpcb.offline.inference import Inference, inference
from milpcb.offline.intervals import IntervalEstimate
from milpcb.offline.log import Log, read_log
from milpcb.offline.scores import Scores, scores
from milpcb.offline.stability import DepthValue, Stability, stability

__all__ = [
    "Claim",
    "DepthValue",
    "Diagnostics",
    "Evaluation",
    "Inference",
    "IntervalEstimate",
    "LeafValue",
    "Log",
    "Scores",
    "Stability",
    "cross_evaluate",
    "evaluate",
    "inference",
    "read_log",
    "scores",
    "stability",
]
