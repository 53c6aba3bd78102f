"""Policies as source code: a rule as nested decisions, and these as SQL and as Python."""

from policies.exports.decisions import (
    AllOf,
    AnyOf,
    Decision,
    If,
    Reaches,
    Term,
    Test,
    chain_of,
    cut_points,
    parts_of,
    tested,
)
from policies.exports.python import python_source
from policies.exports.sql import sql_expression

__all__ = [
    "AllOf",
    "AnyOf",
    "Decision",
    "If",
    "Reaches",
    "Term",
    "Test",
    "chain_of",
    "cut_points",
    "parts_of",
    "python_source",
    "sql_expression",
    "tested",
]
