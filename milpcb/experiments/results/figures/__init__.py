"""The figures of a study, one idea a file: this table names them; each draws what applies and says what to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from milpcb.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from milpcb.experiments.results.figures.drawing import Drawing
    from milpcb.experiments.results.figures.results import Results


@dataclass(frozen=True)
class Kind:
    """Where the function is that turns Results into a list of Drawings, and what it needs to draw any."""

    target: str
    needs: str = ""

    def draw(self, results: Results) -> list[Drawing]:
        """Import the function and call it."""
        module, _, name = self.target.partition(":")
        drawings: list[Drawing] = getattr(import_module(f"{__name__}.{module}"), name)(results)
        return drawings


FIGURES = {
    "regret": Kind("regret:regret"),
    "costs": Kind("costs:costs"),
    "regret_loglog": Kind("regret:regret_loglog", "a study with positive regret"),
    "finals": Kind("finals:finals"),
    "overview": Kind("overview:overview", "a study of at least 2 environments, policy classes or oracles"),
    "times": Kind("times:times"),
    "horizons": Kind("horizons:horizons", "a study of at least 2 horizons"),
    "against": Kind("against:against", "a config that lists entries which differ in one number only"),
}
ALL = "all"


def draw(results: Results, names: Iterable[str] = (ALL,)) -> Iterator[Drawing]:
    """Yield the figures of these names, ``all`` for those that apply.

    Raises UnknownNameError for a name that no figure has, and InputError for a figure that does not apply.
    """
    for name in names:
        if name not in {*FIGURES, ALL}:
            raise UnknownNameError("figure", name, [*FIGURES, ALL])
        for key in FIGURES if name == ALL else [name]:
            drawings = FIGURES[key].draw(results)
            if not drawings and name != ALL:
                raise InputError(f"figure '{key}' needs {FIGURES[key].needs}; {results.title} is not that")
            yield from drawings
