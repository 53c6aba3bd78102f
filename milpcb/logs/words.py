"""The findings of a log in sentences: what follows, and what does not."""

from __future__ import annotations

from collections.abc import Iterator

from milpcb.logs.findings import Findings
from milpcb.offline import Evaluation, Inference

SURE = 0.05  # a p-value above is called no evidence


def verdict(found: Findings) -> str:
    """Return the finding in one sentence or two."""
    if found.inference is None:
        return "Whether the policy is better than treating everybody alike was not asked."
    claims = found.inference
    best = claims.best_constant
    if claims.gain <= 0:
        return f"No policy of this class looks better than '{best}' for everybody."
    looks = f"the policy looks better than '{best}' for everybody by {claims.gain:.4g}"
    if claims.p_value > SURE:
        return (
            f"There is no evidence for targeting: {looks}, but the best of so many policies would look so good by "
            f"chance alone (p = {claims.p_value:.2g})."
        )
    return (
        f"There is evidence for targeting (p = {claims.p_value:.2g}): {looks}; learnt on other rows, it gains "
        f"{claims.cross_fitted.gain:.4g}."
    )


def sentences(found: Findings) -> list[str]:
    """Return what is printed below the rule."""
    return [*_class_words(found), *(found.inference.words() if found.inference else ()), *_stable(found)]


def warnings(found: Findings) -> list[str]:
    """Return what may be wrong with the log."""
    return [*found.source.warnings, *found.scores.diagnostics.words()]


def optimism(evaluation: Evaluation) -> str:
    """Return why the values on the rows of the fit are too good."""
    unit = "reward" if evaluation.maximise else "cost"
    return (
        f"Mean {unit} by the scores, on the rows that the policy was learnt from. The policy was chosen because it "
        "looks best there, so its own value, and those of its parts, look better than they are; those of the constants "
        "and of what was done are not chosen and have no such flaw."
    )


def _class_words(found: Findings) -> Iterator[str]:
    estimator = found.estimator
    if estimator.optimal_:
        yield "It is proved that no policy of its class that keeps the constraints has a better value on these rows."
    else:
        yield (
            f"The search was cut short: its value is {estimator.policy_value_:.6g}, and no policy of its class has a "
            f"better one than {estimator.lower_bound_:.6g}."
        )


def _stable(found: Findings) -> Iterator[str]:
    stable = found.stability
    if stable is not None:
        yield from stable.words()


def claims_table(claims: Inference) -> list[tuple[str, str, str, str]]:
    """Return the two claims: how, the gain behind it, its lower bound, its p-value."""
    rows = (
        ("this policy: a band over all policies of the class", claims.band),
        ("learning one: on the folds that it was not learnt from", claims.cross_fitted),
    )
    return [(how, f"{claim.gain:.4g}", f"{claim.lower:.4g}", f"{claim.p_value:.3g}") for how, claim in rows]
