"""The worth of a policy, from a log: scores, the values of fixed policies, and claims after a search."""

from milpcb.offline.band import Claim
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.evaluate import Evaluation, LeafValue, evaluate
from milpcb.offline.guarded import LowerEnds, NoWorseThan, no_worse_for_each, no_worse_than
from milpcb.offline.inference import Inference, State, inference
from milpcb.offline.intervals import IntervalEstimate
from milpcb.offline.log import Log, kept_aside, read_log
from milpcb.offline.reference import Reference, best_reference
from milpcb.offline.replay import LoggedRounds
from milpcb.offline.scores import Scores, scores
from milpcb.offline.settled import Settled, settled
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
    "LoggedRounds",
    "LowerEnds",
    "NoWorseThan",
    "Reference",
    "Scores",
    "Settled",
    "Stability",
    "State",
    "best_reference",
    "evaluate",
    "inference",
    "kept_aside",
    "no_worse_for_each",
    "no_worse_than",
    "read_log",
    "scores",
    "settled",
    "stability",
]
