"""How a notebook displays a fitted estimator."""

from __future__ import annotations

from html import escape
from typing import Any


def html(estimator: Any) -> str:
    """Return the policy with its drawing, and what it and the constants are worth on the rows of the fit."""
    policy = estimator.policy_
    drawn = policy._repr_html_() if hasattr(policy, "_repr_html_") else f"<pre>{escape(str(policy))}</pre>"
    unit = "reward" if estimator.maximise_ else "cost"
    values = zip(map(str, estimator.actions_), estimator.constant_values_.tolist(), strict=True)
    lines = [("this policy", estimator.policy_value_), *((f"always {name}", value) for name, value in values)]
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{value:.6g}</td></tr>" for name, value in lines)
    proof = "proved optimal" if estimator.optimal_ else f"not proved optimal: at best {estimator.lower_bound_:.6g}"
    head = f"<tr><th>{escape(type(estimator).__name__)}, {proof}</th><th>mean {unit}, rows of the fit</th></tr>"
    return f"{drawn}<table>{head}{rows}</table>"
