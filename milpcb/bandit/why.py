"""Why a decision was made: the path through the rule, or exploration; what would alter it; what rivals do here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any, NamedTuple

import numpy as np

from milpcb.bandit.contexts import ContextReader
from milpcb.core.decimals import written
from milpcb.data.columns import Value, in_words, name_in_words

MOST_VALUES = 200  # of a feature that are tried where neither class nor rule has cut points of it


class FeatureChange(NamedTuple):
    """The least change of one feature, all others as they are, for which the rule plays another action.

    ``steps`` counts the cut points of the feature that lie on the way, the last one included.
    """

    feature: str
    words: str
    action: Any
    steps: int


@dataclass(frozen=True)
class Why:
    """The reasons of one decision, by the rule in force, or by the best policy as it is known when one asks.

    Attributes
    ----------
    action, probability : of the decision
    by : "rule"; "majority", where another action had more than half of the chance, as the learner weighs many policies;
        "exploration", where it had less; "baseline", which decided alone; "no choice", where nothing else was there
    rule : the action of the rule
    path : the tests on the way to the part of the rule that holds here, in words; () for a policy of another kind
    changes : the least change of each feature that would alter the rule's action, the nearest first
    rivals : by other action, how much more the best policy that plays it here has cost in all, by estimates
    chance : how much of that is within chance: the standard error of the best policy's total
    policy : the rule

    """

    action: Any
    probability: float
    by: str
    rule: Any
    path: tuple[str, ...]
    changes: tuple[FeatureChange, ...]
    rivals: Mapping[Any, float]
    chance: float
    policy: Any

    @property
    def nearest(self) -> FeatureChange | None:
        """The nearest change of one feature that would alter the rule's action, None where no such change would."""
        return self.changes[0] if self.changes else None

    @property
    def disputed(self) -> tuple[Any, ...]:
        """The actions that other policies play here which are as good as the best one, up to chance."""
        return tuple(action for action, more in self.rivals.items() if more <= self.chance)

    def __str__(self) -> str:
        """Return the reasons in a few lines."""
        reasons = {
            "rule": f"the rule plays {self.rule} here",
            "majority": f"most of the weight is on policies that play it here, and the best plays {self.rule}",
            "exploration": f"to explore: the rule plays {self.rule} here",
            "baseline": f"the baseline decided alone, and the rule plays {self.rule} here",
            "no choice": f"nothing else was available, and the rule plays {self.rule} here",
        }
        where = f", as {' and '.join(self.path)}" if self.path else ""
        lines = [f"{self.action} (probability {self.probability:.3g}): {reasons[self.by]}{where}."]
        lines += [f"With {change.words} it would play {change.action}." for change in self.changes] or [
            "No change of a single feature would alter that."
        ]
        if self.disputed:
            others = " or ".join(map(str, self.disputed))
            lines.append(f"Other policies that are as good up to chance play {others} here.")
        else:
            lines.append(f"All policies that are as good up to chance play {self.rule} here.")
        return "\n".join(lines)


def explained(
    decision: Any,
    policy: Any,
    reader: ContextReader,
    names: Sequence[Any],
    rivals: Iterable[float],
    chance: float,
    alone: str,
    known: Any,
) -> Why:
    """Return the reasons of a decision.

    ``policy`` reads numbers, ``rivals`` (K,) is how much more the best policy that plays each action has cost,
    ``alone`` what it means that nothing else had a chance, and ``known`` (m, d) are numbers of contexts.
    """
    context = reader.read(decision.context)
    played = int(policy.predict(np.array(context.numbers, dtype=float))[0])
    if decision.action == names[played]:
        by = "rule"
    elif sum(chance > 0 for chance in decision.probabilities) == 1:
        by = alone
    else:
        by = "majority" if decision.probability > 0.5 else "exploration"
    found = (_change(policy, reader, names, context.features, i, played, known) for i in range(len(context.features)))
    changes = tuple(sorted((change for change in found if change), key=lambda change: change.steps))
    more = {names[a]: float(v) for a, v in enumerate(rivals) if a != played and np.isfinite(v)}
    shown = reader.show(policy)
    path: tuple[str, ...] = ()
    if hasattr(shown, "ways"):
        path = shown.ways().get(int(policy.apply(np.array(context.numbers, dtype=float))[0]), ())
    return Why(decision.action, decision.probability, by, names[played], path, changes, more, chance, shown)


def _change(
    policy: Any, reader: ContextReader, names: Sequence[Any], features: Sequence[Value], i: int, played: int, known: Any
) -> FeatureChange | None:
    """Return the nearest value of one feature for which the rule plays another action."""
    name = reader.names[i] if reader.names else f"x{i}"
    tried = sorted(_candidates(policy, reader, features, i, known), key=lambda candidate: candidate[2:])
    if not tried:
        return None
    rows = [reader.read([*features[:i], value, *features[i + 1 :]]).numbers for value, *_ in tried]
    actions = policy.predict(np.vstack([np.array(row, dtype=float) for row in rows])).tolist()
    other = next((place for place, action in enumerate(actions) if action != played), None)
    if other is None:
        return None
    _, words, steps, _ = tried[other]
    return FeatureChange(name, f"{name_in_words(name)} {words}", names[actions[other]], steps)


Candidate = tuple[Value, str, int, float]  # the value, in words, steps, distance


def _candidates(
    policy: Any, reader: ContextReader, features: Sequence[Value], i: int, known: Any
) -> Iterator[Candidate]:
    """Yield values of one feature that may alter what the rule plays."""
    value, declared = features[i], reader.declared.get(reader.names[i], ()) if reader.names else ()
    for other in declared:
        if other != value:
            # a number that is not known any more is farther than every other number
            far = MOST_VALUES if other is None and _is_number(value) else 1
            yield other, "is missing" if other is None else f"= {in_words(other)}", far, 0.0
    if isinstance(value, str) or any(isinstance(each, (str, bool)) for each in declared):
        return
    cuts = _cuts(policy, reader, i, known)
    if value in (0, 1) and all(0 <= cut < 1 for cut in cuts):
        yield float(1 - value), f"= {int(1 - value)}", 1, 0.0
        return
    for place, cut in enumerate(cuts):
        yield from _missed(cut, place) if value is None else _across(float(value), cut, cuts)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _missed(cut: float, place: int) -> Iterator[Candidate]:
    """Yield values on both sides of a cut point for one that is missing."""
    yield nextafter(cut, inf), f"> {written(cut)}", 1, float(place)
    yield cut, f"<= {written(cut)}", 1, float(place)


def _across(value: float, cut: float, cuts: Sequence[float]) -> Iterator[Candidate]:
    """Yield a cut point, and what lies just beyond it, as seen from a value."""
    steps = sum(min(value, cut) < each < max(value, cut) for each in cuts) + 1
    if cut > value:
        yield cut, f">= {written(cut)}", steps, cut - value
    if cut >= value:
        yield nextafter(cut, inf), f"> {written(cut)}", steps, nextafter(cut - value, inf)
    if cut < value:
        yield cut, f"<= {written(cut)}", steps, value - cut
    if cut <= value:
        yield nextafter(cut, -inf), f"< {written(cut)}", steps, nextafter(value - cut, inf)


def _cuts(policy: Any, reader: ContextReader, i: int, known: Any) -> list[float]:
    """Return the cut points of a feature: the class's, and the rule's; where there are none, values that are known."""
    own = list(reader.cut_points(i))
    tested = policy.cut_points() if hasattr(policy, "cut_points") else None
    for column in reader.numbers_of(i):
        own += (tested or {}).get(column) or ()
        if not own:
            own += np.unique(known[:, column])[:MOST_VALUES].tolist()
    return sorted(set(map(float, own)))
