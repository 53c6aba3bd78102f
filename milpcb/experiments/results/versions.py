"""Versions of packages that may change numbers: kept in config.toml, in every record and in every saved state."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

SOLVERS = ("highspy", "pulp", "pyscipopt", "gurobipy", "cplex", "xpress", "coptpy")
OTHERS = ("vowpalwabbit", "contextualbandits", "coba")
PACKAGES = ("milpcb", "numpy", "scipy", "numba", *SOLVERS, "scikit-learn", *OTHERS)


@cache
def installed() -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed here."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def differences(made_with: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that differ here, by package; a package that is missing here or there is no difference."""
    here = installed()
    return {package: there for package, there in made_with.items() if here.get(package, there) != there}


def describe(made_with: Iterable[Mapping[str, str]]) -> str:
    """Return 'numpy 2.0.1 (here 2.1.0), ...' for what differs in any of the given versions; '' where nothing does."""
    others = {(package, there) for each in made_with for package, there in differences(each).items()}
    return ", ".join(f"{package} {there} (here {installed()[package]})" for package, there in sorted(others))
