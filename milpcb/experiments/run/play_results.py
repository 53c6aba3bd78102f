"""Results of ``milpcb.play``: costs, regret and certificates of every play, as a table, a frame or a picture."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.core.decimals import spaced
from milpcb.core.extras import needs
from milpcb.errors import InputError
from milpcb.experiments.results import confident_in, confident_meaning, percent_of
from milpcb.protocols import FoundPolicy

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = "-"
COLUMNS = ("learner", "mean cost", "regret", "certificate", "bound", "guarantee")
# Numbers of the frame; certificates with a confidence stand between.
NUMBERS = ("cumulative_cost", "best_cost", "regret", "certificate", "certificate_error")
LATER = ("bound", "guarantee", "seconds")
CERTIFICATE = "The mean of certificates bounds mean regret; the regret of one play may lie above its own certificate."
LIVE = "Live: only costs of actions played are known, so regret cannot be known; the certificate still bounds it."


@dataclass(frozen=True)
class Played:
    """One learner with one seed: a row for each checkpoint, and the best policy at the end.

    Rows have the columns of ``Plays.frame``, and all others of a play's points. Pictures give a learner its colour by
    its registered ``name``, "" for the label.
    """

    label: str
    seed: int
    rows: tuple[dict[str, Any], ...]
    policy: FoundPolicy
    name: str = ""


@dataclass(frozen=True)
class Plays:
    """All plays of one call. ``print`` shows the table; ``plays`` are what it is made of."""

    plays: tuple[Played, ...]
    horizon: int

    @property
    def live(self) -> bool:
        """Whether only the costs of actions played are known, so that there is no regret."""
        return self.plays[0].rows[-1]["best_cost"] is None

    @property
    def learners(self) -> list[str]:
        """The labels, in order."""
        return list(dict.fromkeys(play.label for play in self.plays))

    @property
    def names(self) -> dict[str, str]:
        """The registered name of each learner, by its label."""
        return {play.label: play.name or play.label for play in self.plays}

    @property
    def policies(self) -> dict[str, dict[int, FoundPolicy]]:
        """The best policy of each learner by what it was shown, for each seed."""
        return {
            label: {play.seed: play.policy for play in self.plays if play.label == label} for label in self.learners
        }

    def frame(self) -> pl.DataFrame:
        """Return a polars frame with a row for each learner, seed and checkpoint.

        Columns: learner, seed, round, cumulative_cost (expected; in live play of the actions played), best_cost and
        regret (null in live play), certificate and certificate_error (NaN where no oracle answered), bound (of the
        algorithm's own analysis of this play, NaN where it has none), guarantee (inf where there is none), seconds (of
        the learner); and where a confidence of 0.95 was asked for, certificate_95, which the regret of the actions that
        this play drew ever exceeds with a chance of 5 % at most. Raises ExtraMissingError without polars.
        """
        with needs("studies", "frame()"):
            import polars as pl
        rows = [row for play in self.plays for row in play.rows]
        confident = confident_in(rows[0])
        numbers = [*NUMBERS, *([confident] if confident else []), *LATER]
        schema: dict[str, Any] = {"learner": pl.String, "seed": pl.Int64, "round": pl.Int64}
        return pl.DataFrame(rows, schema=schema | dict.fromkeys(numbers, pl.Float64))

    def table(self) -> str:
        """Return as text, for each learner, the means over seeds at the horizon, and what they mean."""
        confident = confident_in(self.plays[0].rows[-1])
        titles = list(COLUMNS)
        if confident is not None:
            titles.insert(titles.index("certificate") + 1, f"{percent_of(confident)}% certificate")
        rows = [titles, *(self._summary(label, confident) for label in self.learners)]
        first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([f"{label:<{first}}", *(f"{text:>{w}}" for text, w in zip(texts, widths, strict=True))]).rstrip()
            for label, *texts in rows
        ]
        seeds = len({play.seed for play in self.plays})
        heading = f"{spaced(self.horizon)} rounds, {'means over ' if seeds > 1 else ''}{seeds} seed{'s' * (seeds > 1)}"
        notes = [*([LIVE] if self.live else []), CERTIFICATE, *([confident_meaning(confident)] if confident else [])]
        return "\n".join([heading, "", *lines, "", *notes])

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """Return the table and, where the extra of studies is installed, the picture, for notebooks."""
        table = f"<pre>{escape(self.table())}</pre>"
        if not (find_spec("matplotlib") and find_spec("polars")):
            return table
        from milpcb.experiments.results.figures.rounds import draw_plays

        picture = b64encode(draw_plays(self.frame(), self.names, live=self.live, suffix="svg")).decode()
        source = f"data:image/svg+xml;base64,{picture}"
        return f'{table}<img alt="Regret by round" style="max-width: min(60em, 100%)" src="{source}">'

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw regret against rounds, in live play certificates, as a .png, .svg or .pdf file, or on axes of yours.

        Parameters
        ----------
        path : of the file
        ax : axes of matplotlib, which keep their figure, style and size; in the place of ``path``

        Returns
        -------
        the path as a Path, or ``ax``

        Raises
        ------
        ExtraMissingError without matplotlib, InputError on another ending and where neither or both are given

        """
        if (path is None) == (ax is None):
            raise InputError("plot takes the path of a file, or ax=, the axes to draw on: one of the two")
        target = Path("" if path is None else path)
        if ax is None and target.suffix not in {".png", ".svg", ".pdf"}:
            raise InputError(f"plot writes .png, .svg and .pdf files, got {target.name}")
        with needs("studies", "plot()"):
            from milpcb.experiments.results.figures.rounds import draw_plays, draw_plays_on
        if ax is not None:
            draw_plays_on(ax, self.frame(), self.names, live=self.live)
            return ax
        try:
            target.write_bytes(draw_plays(self.frame(), self.names, live=self.live, suffix=target.suffix[1:]))
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror}") from error
        return target

    def _summary(self, label: str, confident: str | None) -> tuple[str, ...]:
        last = [play.rows[-1] for play in self.plays if play.label == label]
        certificate, error = _mean(last, "certificate"), [row["certificate_error"] for row in last]
        doubt = float(np.sqrt(np.square(error).sum()) / len(error))
        return (
            label,
            f"{_mean(last, 'cumulative_cost') / self.horizon:.3f}",
            UNKNOWN if self.live else _shown(_mean(last, "regret")),
            _shown(certificate) + (f" ± {_shown(doubt)}" if np.isfinite(doubt) else ""),
            *([] if confident is None else [_shown(_mean(last, confident))]),
            _shown(_mean(last, "bound")),
            _shown(max(row["guarantee"] for row in last)),
        )


def _mean(rows: Sequence[dict[str, Any]], column: str) -> float:
    return float(np.mean([row[column] for row in rows]))


def _shown(value: float) -> str:
    return spaced(value, ".1f" if abs(value) < 100 else ".0f") if np.isfinite(value) else UNKNOWN
