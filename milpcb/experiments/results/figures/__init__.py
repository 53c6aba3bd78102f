"""The figures of a study, one idea a file: the registry names them, and each has a caption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from milpcb.core.surroundings import plain, unseen
from milpcb.errors import InputError, UnknownNameError
from milpcb.plugins import injection, registry

with unseen("matplotlibrc"):  # before a module of this folder imports a part of it
    import matplotlib as mpl  # noqa: F401 - see above

if TYPE_CHECKING:
    from milpcb.experiments.results.figures.drawing import Drawing
    from milpcb.experiments.results.figures.results import Results

ALL = "all"


def draw(results: Results, names: Iterable[str] = (ALL,)) -> Iterator[Drawing]:
    """Yield the figures of these names, ``all`` for those that apply; raises InputError for another."""
    known, wanted = list(registry.entries("figure")), list(names)
    for name in wanted:  # before the first is drawn, and perhaps written
        if name not in {*known, ALL}:
            raise UnknownNameError("figure", name, [*known, ALL])
    for name in wanted:
        for key in known if name == ALL else [name]:
            figure = registry.load("figure", key)
            with plain():
                drawings: list[Drawing] = figure(results)
            if not drawings and name != ALL:
                raise InputError(f"figure '{key}' has nothing to draw of {results.title}: {injection.summary(figure)}")
            yield from drawings
