"""The interface of each replaceable part. To add a part, write a class that fits one, and add a line to the registry.

The pattern is the same everywhere: a *settings* object (a policy class, a solver, an environment) is a cheap
description; opening it on data (contexts, a program, a seed) gives the *working* object that is then queried many
times.
"""

from milpcb.constraints import SideConstraint
from milpcb.protocols.environments import Cache, ContextModel, Environment, Stream
from milpcb.protocols.oracles import SeveralTables, Table, ValueOracle
from milpcb.protocols.policies import (
    Cuts,
    Encoding,
    Objective,
    Opened,
    PolicyClass,
    Separator,
    check_n_actions,
    open_class,
)
from milpcb.protocols.recursion import (
    Listing,
    Recursion,
    RestrictedTerms,
    Search,
    Terms,
    TermSearch,
    Within,
)
from milpcb.protocols.solvers import Session, Solver, SolverInfo
from milpcb.types import FoundPolicy, Policy

__all__ = [
    "Cache",
    "ContextModel",
    "Cuts",
    "Encoding",
    "Environment",
    "FoundPolicy",
    "Listing",
    "Objective",
    "Opened",
    "Policy",
    "PolicyClass",
    "Recursion",
    "RestrictedTerms",
    "Search",
    "Separator",
    "Session",
    "SeveralTables",
    "SideConstraint",
    "Solver",
    "SolverInfo",
    "Stream",
    "Table",
    "TermSearch",
    "Terms",
    "ValueOracle",
    "Within",
    "check_n_actions",
    "open_class",
]
