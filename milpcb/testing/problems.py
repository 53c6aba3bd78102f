"""Known problems as data: (program, objective, optimum, note). Every solver must solve every one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.program import Program, ProgramBuilder
from milpcb.types import Floats, Stop


@dataclass(frozen=True)
class KnownProblem:
    """A program and what is known of it; ``optimum`` is None when ``stop`` is not optimal."""

    name: str
    program: Program
    objective: Floats
    optimum: float | None
    stop: Stop
    note: str


def known_problems() -> list[KnownProblem]:
    """Return the problems, smallest first."""
    return [
        _box("negative costs", [-2.0, 3.0, -1.0], -3.0, "no rows; every column at the bound its sign wants"),
        _box("zero objective", [0.0, 0.0, 0.0], 0.0, "anything is optimal"),
        _empty_row(),
        _ties(),
        _infeasible(),
        _integer_infeasible(),
        _unbounded(),
        _free_integer(),
        _equality(),
        _knapsack(),
        _big_m(),
    ]


def violation(program: Program, x: Floats, *, relax: bool = False) -> float:
    """Return by how much ``x`` breaks rows, bounds or integrality at worst."""
    activity = program.matrix @ x
    parts = [
        program.row_lower - activity,
        activity - program.row_upper,
        program.column_lower - x,
        x - program.column_upper,
        np.zeros(1) if relax else np.abs(x - np.rint(x))[program.integer],
    ]
    return float(max((part.max() for part in parts if part.size), default=0.0))


def _box(name: str, costs: list[float], optimum: float, note: str) -> KnownProblem:
    b = ProgramBuilder()
    b.columns("x", (len(costs),), 0.0, 1.0)
    return KnownProblem(name, b.build(integral=True), np.array(costs), optimum, Stop.OPTIMAL, note)


def _empty_row() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (2,), 0.0, 4.0)
    b.rows((x[None, :], 0.0), lower=-1.0, upper=1.0)
    b.rows((x[None, :], 1.0), lower=3.0)
    return KnownProblem("empty row", b.build(), np.array([1.0, 2.0]), 3.0, Stop.OPTIMAL, "a row with no entry holds")


def _ties() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (4,), 0.0, 1.0, integer=True)
    b.rows((x[None, :], 1.0), lower=1.0, upper=1.0)
    return KnownProblem("ties", b.build(integral=True), np.full(4, -7.0), -7.0, Stop.OPTIMAL, "four optima, one value")


def _infeasible() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (2,), 0.0, 1.0)
    b.rows((x[None, :], 1.0), lower=3.0)
    return KnownProblem("infeasible", b.build(), np.ones(2), None, Stop.INFEASIBLE, "1 + 1 < 3")


def _integer_infeasible() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (2,), 0.0, 5.0, integer=True)
    b.rows((x[None, :], 2.0), lower=3.0, upper=3.0)
    return KnownProblem(
        "integer infeasible",
        b.build(),
        np.ones(2),
        None,
        Stop.INFEASIBLE,
        "an even number is not 3; the LP is feasible",
    )


def _unbounded() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (2,), 0.0)
    b.rows((x[None, :], np.array([1.0, -1.0])), lower=0.0)
    return KnownProblem("unbounded", b.build(), np.array([-1.0, 0.0]), None, Stop.UNBOUNDED, "x0 grows for ever")


def _free_integer() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (1,), -np.inf, np.inf, integer=True)
    b.rows((x[None, :], 2.0), lower=-7.0)
    return KnownProblem(
        "free integer", b.build(), np.array([1.0]), -3.0, Stop.OPTIMAL, "x >= -3.5 with no column bound rounds up to -3"
    )


def _equality() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (2,), -np.inf, np.inf)
    b.rows((x[None, :], np.array([1.0, 1.0])), lower=2.0, upper=2.0)
    b.rows((x[None, :], np.array([1.0, -1.0])), lower=-4.0, upper=-4.0)
    return KnownProblem("equalities", b.build(), np.array([5.0, 1.0]), -2.0, Stop.OPTIMAL, "one point: (-1, 3)")


def _knapsack() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (4,), 0.0, 1.0, integer=True)
    b.rows((x[None, :], np.array([5.0, 4.0, 3.0, 2.0])), upper=7.0)
    return KnownProblem(
        "knapsack",
        b.build(),
        np.array([-9.0, -6.0, -5.0, -3.0]),
        -12.0,
        Stop.OPTIMAL,
        "rounding the relaxation is wrong",
    )


def _big_m() -> KnownProblem:
    b = ProgramBuilder()
    x = b.columns("x", (1,), 0.0, 1000.0)
    y = b.columns("y", (1,), 0.0, 1.0, integer=True)
    b.rows((x[None, :], 1.0), (y[None, :], -1000.0), upper=0.0)
    b.rows((x[None, :], 1.0), lower=0.5)
    return KnownProblem("big M", b.build(), np.array([0.0, 1.0]), 1.0, Stop.OPTIMAL, "y = 0.0005 is not an integer")
