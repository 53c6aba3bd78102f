"""Solvers that a test needs."""

import pytest

from milpcb.solvers import describe_all


def needs(solver: str) -> None:
    """Skip, with the reason, where a solver cannot run."""
    for info in describe_all():
        if info.name == solver and info.missing:
            pytest.skip(f"{solver}: {info.missing}")
