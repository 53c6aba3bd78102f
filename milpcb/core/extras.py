"""Optional dependencies, and the message when one is missing.

Policy classes, oracles and learners need none of them. Whatever does imports its packages inside ``needs``.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from milpcb.errors import ExtraMissingError

# The modules that each extra of pyproject.toml brings. A learner or environment that needs one for itself has its name.
MODULES = {
    "studies": {
        "click", "filelock", "jinja2", "matplotlib", "polars", "pydantic", "rich", "sklearn", "threadpoolctl",
        "tomli_w",
    },
    "learn": {"narwhals", "polars", "sklearn"},
    "interactive": {"plotly"},
    "vw": {"vowpalwabbit"},
    "contextualbandits": {"contextualbandits"},
}  # fmt: skip


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turn the failed import of a package of ``extra`` in the block into ExtraMissingError, one line about ``what``."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in MODULES[extra]:
            raise
        raise ExtraMissingError(f"{what} needs the extra '{extra}': pip install '.[{extra}]' in the clone") from error
