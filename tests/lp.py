"""Programs in the LP file format, for golden files."""

import numpy as np

from milpcb.program import Program
from milpcb.types import Floats, Ints


def lp_text(program: Program, objective: Floats) -> str:
    """Return a program in the LP file format."""
    lines = ["Minimize", f" obj: {_sum(objective, np.arange(program.n_columns), program.names)}", "Subject To"]
    for r in range(program.n_rows):
        span = slice(program.matrix.indptr[r], program.matrix.indptr[r + 1])
        text = _sum(program.matrix.data[span], program.matrix.indices[span], program.names)
        lower, upper = program.row_lower[r], program.row_upper[r]
        if lower == upper:
            lines.append(f" r{r}: {text} = {lower:g}")
            continue
        if np.isfinite(lower):
            lines.append(f" r{r}: {text} >= {lower:g}")
        if np.isfinite(upper):
            lines.append(f" r{r}: {text} <= {upper:g}")
    lines.append("Bounds")
    for name, lower, upper in zip(program.names, program.column_lower, program.column_upper, strict=True):
        lines.append(f" {_bound(lower)} <= {name} <= {_bound(upper)}")
    integers = [name for name, whole in zip(program.names, program.integer, strict=True) if whole]
    if integers:
        lines += ["General", " " + " ".join(integers)]
    return "\n".join([*lines, "End", ""])


def _sum(values: Floats, columns: Ints, names: tuple[str, ...]) -> str:
    terms = [f"{'-' if v < 0 else '+'} {abs(v):g} {names[c]}" for v, c in zip(values, columns, strict=True) if v]
    return " ".join(terms) or "0"


def _bound(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else ("+inf" if value > 0 else "-inf")
