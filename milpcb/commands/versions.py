"""``milpcb --version``: what a bug report must contain."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("numpy", "scipy", "numba")


def versions() -> str:
    """Return the versions of milpcb, Python, the packages that compute, and the solvers that can run here."""
    from milpcb.solvers import describe_all

    solvers = [f"{info.name} {info.version}".strip() for info in describe_all() if not info.missing]
    packages = [f"{package} {_version(package)}" for package in PACKAGES]
    return "\n".join(
        (
            f"milpcb, version {_version('milpcb')}",
            f"Python {platform.python_version()}, {', '.join(packages)}",
            f"solvers: {', '.join(solvers)}",
        )
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
