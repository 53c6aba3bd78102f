"""``milpcb.play``: learners in an environment, from Python, without a config or a run directory; its results."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.core.checks import check_confidence, context_array, whole
from milpcb.core.decimals import spaced
from milpcb.core.long_search import waiting
from milpcb.data.actions import check_order, own_names
from milpcb.errors import InputError, needs, shown
from milpcb.experiments.results import CONFIDENT, asked_for, confident_column, confident_meaning
from milpcb.experiments.run.player import LearnerPlayer, LiveEnvironment, LiveStream, checkpoints
from milpcb.experiments.study.worlds import Entrant, World, hindsight
from milpcb.learners import Learner
from milpcb.plugins import injection, registry
from milpcb.protocols import Environment, FoundPolicy, PolicyClass, open_class
from milpcb.rng import check_seed
from milpcb.types import Ints

if TYPE_CHECKING:
    import polars as pl

POINTS = 20  # log-spaced rounds, and as many evenly spaced ones, at which a curve has a point
SLICE = 16  # rounds after which a line that shows how far a play is may change
UNKNOWN = "-"
# Numbers of the frame; certificates with a confidence stand between.
NUMBERS = ("cumulative_cost", "best_cost", "regret", "certificate", "certificate_error")
LATER = ("bound", "guarantee", "seconds")
CERTIFICATE = "The mean of certificates bounds mean regret; the regret of one play may lie above its own certificate."
LIVE = "Live: only costs of actions played are known, so regret cannot be known; the certificate still bounds it."


@dataclass(frozen=True)
class Plays:
    """All plays of one call: ``print`` shows the table. A row stands for each learner, seed and checkpoint.

    ``names`` are the registered names of the learners by label, ``policies`` the best policy of each by what it was
    shown, for each seed.
    """

    rows: tuple[dict[str, Any], ...]
    names: dict[str, str]
    policies: dict[str, dict[int, FoundPolicy]]
    horizon: int

    @property
    def live(self) -> bool:
        """Whether only the costs of actions played are known, so that there is no regret."""
        return self.rows[0]["best_cost"] is None

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
        confident, _ = asked_for(self.rows[0], CONFIDENT)
        numbers = [*NUMBERS, *([confident] if confident else []), *LATER]
        schema: dict[str, Any] = {"learner": pl.String, "seed": pl.Int64, "round": pl.Int64}
        return pl.DataFrame(self.rows, schema=schema | dict.fromkeys(numbers, pl.Float64))

    def table(self) -> str:
        """Return the table as text: for each learner, the means over seeds at the horizon, and their meaning."""
        last = [row for row in self.rows if row["round"] == self.horizon]
        ends = [[row for row in last if row["learner"] == label] for label in self.names]
        (sure, level), seeds = asked_for(ends[0][0], CONFIDENT), len(ends[0])
        columns = [
            ["mean cost", *(f"{_mean(rows, 'cumulative_cost') / self.horizon:.3f}" for rows in ends)],
            ["regret", *(UNKNOWN if self.live else _shown(_mean(rows, "regret")) for rows in ends)],
            ["certificate", *map(_certificate, ends)],
            *([[f"{level}% certificate", *(_shown(_mean(rows, sure)) for rows in ends)]] if sure else []),
            ["bound", *(_shown(_mean(rows, "bound")) for rows in ends)],
            ["guarantee", *(_shown(max(row["guarantee"] for row in rows)) for rows in ends)],
        ]
        padded = [_padded("<", ["learner", *self.names]), *(_padded(">", texts) for texts in columns)]
        lines = ["  ".join(texts).rstrip() for texts in zip(*padded, strict=True)]
        heading = f"{spaced(self.horizon)} rounds, {'means over ' if seeds > 1 else ''}{seeds} seed{'s' * (seeds > 1)}"
        notes = [*([LIVE] if self.live else []), CERTIFICATE, *([confident_meaning(level)] if sure else [])]
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
        """Draw regret against rounds, in live play certificates, into a .png, .svg or .pdf file, or on axes.

        Returns the path, or ``ax``. Raises ExtraMissingError without matplotlib, InputError on another ending and where
        neither or both are given.
        """
        if (path is None) == (ax is None):
            raise InputError("plot takes the path of a file, or ax=, the axes to draw on: one of the two")
        target = Path(path or "")
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


def _padded(side: str, texts: list[str]) -> list[str]:
    return [f"{text:{side}{max(map(len, texts))}}" for text in texts]


def _mean(rows: Sequence[dict[str, Any]], column: str) -> float:
    return float(np.mean([row[column] for row in rows]))


def _shown(value: float) -> str:
    return spaced(value, ".1f" if abs(value) < 100 else ".0f") if np.isfinite(value) else UNKNOWN


def _certificate(rows: Sequence[dict[str, Any]]) -> str:
    doubt = float(np.sqrt(sum(row["certificate_error"] ** 2 for row in rows)) / len(rows))
    return _shown(_mean(rows, "certificate")) + (f" ± {_shown(doubt)}" if np.isfinite(doubt) else "")


def play(
    environment: str | Environment | LiveEnvironment,
    learners: Any,
    horizon: int,
    *,
    policies: PolicyClass,
    seeds: Sequence[int] = (0,),
    oracle: str | Mapping[str, Any] | None = None,
    contexts: Any = None,
    confidence: float | None = None,
) -> Plays:
    """Play learners in an environment, each with every seed, and return the results: ``print`` shows a table.

    The numbers are those of a study with the same settings. Where a live environment is played, only the cost of the
    action played is known. Regret cannot be known then, and the table shows none; but the certificate still bounds it:
    the mean of certificates over plays bounds mean regret, while the regret of one play may lie above its own
    certificate.

    Parameters
    ----------
    environment : registered name, an Environment, or anything live: an object with ``context()``, which returns the
        context (d,) of the next round, and ``cost(action)``, which returns the cost in [0, 1] of the action played, or
        None where it never becomes known: then no round counts, and certificates hold if whether it does depends
        neither on the cost nor on the action. Learners and seeds take turns on a live one, ``horizon`` rounds each;
        before each turn its ``begin(seed)`` is called where it has one, as the replay of a log
        (milpcb.offline.LoggedRounds). Where it and the class have ``action_names`` (K,), names tell actions apart
    learners : a name, a Learner class, or a table with the key ``name`` and that learner's options, of which ``label``
        and ``oracle`` may be two; a list of these; or a mapping from labels to them
    horizon : number of rounds T of each play
    policies : the class that is competed with, as in ``DecisionTrees(n_actions=3, depth=2)``
    seeds : of the environments and of the learners; one play of each learner for each
    oracle : kind of the learners' oracle, or a table with the key ``kind`` and the options of that kind; None takes the
        class's own search where it has one, else the default solver
    contexts : (m, d), for live environments: all contexts that may occur, up to those that no policy of the class
        distinguishes from one of them. Learners who imagine contexts to come know of those only that they have seen
    confidence : such as 0.95: adds certificates that hold with this probability for each play, at every round

    Raises
    ------
    InputError (one line), UnknownNameError

    """
    horizon = whole("horizon", horizon, 1)
    if not isinstance(policies, PolicyClass):
        raise InputError(f"policies must be a policy class, as in DecisionTrees(n_actions=3), got {shown(policies)}")
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, (Sequence, np.ndarray)) or not len(seeds):
        raise InputError(f"seeds must be a list of at least one, such as range(5), got {shown(seeds)}")
    chosen = [check_seed(seed) for seed in seeds]
    if len(set(chosen)) < len(chosen):
        raise InputError(f"a seed is listed twice; each one is one play, got {shown(seeds)}")
    sure = None if confidence is None else check_confidence(confidence)
    made = _environment(environment)
    live = _is_live(made)
    named = _entrants(learners, oracle, "empirical" if live else "pool")
    for each in named:
        if live and (each.cls.full_information or injection.asks(each.cls, "best")):
            raise InputError(
                f"learner '{each.label}': it learns from the costs of all actions, "
                "and a live environment shows that of the action played"
            )
    at = checkpoints(horizon, POINTS)
    rows: list[dict[str, Any]] = []
    found: dict[str, dict[int, FoundPolicy]] = {each.label: {} for each in named}
    for seed in chosen:
        world = _open(made, policies, horizon, seed, contexts)
        best = {} if live else _best(world, seed, at)
        players = [LearnerPlayer(world, each, seed, at, sure) for each in named]  # mistakes come before any plays
        for each, player in zip(named, players, strict=True):
            if live:
                world.stream.begin(seed)
            _play_out(player, f"{each.label}, seed {seed}", horizon)
            rows += _rows(each, player, seed, best)
            found[each.label][seed] = player.certify().policy
    return Plays(tuple(rows), {each.label: each.name for each in named}, found, horizon)


def _environment(environment: Any) -> Any:
    if isinstance(environment, str):
        return injection.make(registry.load("environment", environment), {})
    if isinstance(environment, type) or not (_is_live(environment) or hasattr(environment, "open")):
        raise InputError(
            "environment must be a registered name, an environment such as Planted(), or an object with context() and "
            f"cost(action), got {shown(environment)}"
        )
    return environment


def _is_live(environment: Any) -> bool:
    return all(callable(getattr(environment, name, None)) for name in ("context", "cost"))


def _open(made: Any, policies: PolicyClass, horizon: int, seed: int, contexts: Any) -> World:
    if not _is_live(made):
        if contexts is not None:
            raise InputError("contexts= is for live environments; this one brings its own")
        check_order("the policy class", own_names(policies), getattr(made, "action_names", ()))
        return World(made, policies, made.open(policies, horizon, seed), horizon)
    if contexts is None:
        raise InputError("a live environment needs contexts=, a table (rows, features) of the contexts that may occur")
    known = context_array(contexts)
    return World(made, policies, LiveStream(made, open_class(policies, known), known), horizon)


def _best(world: World, seed: int, at: Ints) -> dict[int, float]:
    with waiting(f"best policy in hindsight, seed {seed}"):
        return hindsight(world.stream, world.comparator_oracle(), world.horizon, frozenset(at.tolist())).best_cost


def _play_out(player: LearnerPlayer, called: str, horizon: int) -> None:
    with waiting(lambda: f"{called}: {spaced(player.tally.round)} of {spaced(horizon)} rounds"):
        while player.tally.round < horizon:
            player.advance(SLICE)


def _rows(each: Entrant, player: LearnerPlayer, seed: int, best: Mapping[int, float]) -> Iterator[dict[str, Any]]:
    for point in player.points:
        row: dict[str, Any] = {name: np.nan if value is None else value for name, value in point.items()}
        least = best.get(row["rounds"])
        row |= {"learner": each.label, "seed": seed, "round": row["rounds"], "guarantee": player.guarantee}
        row |= {"best_cost": least, "regret": None if least is None else row["cumulative_cost"] - least}
        if player.confidence is not None:
            row[confident_column(player.confidence)] = row["confident"]
        yield row


def _entrants(learners: Any, oracle: Any, contexts: str) -> list[Entrant]:
    if isinstance(learners, Mapping) and "name" not in learners:
        named = [_entrant(entry, oracle, contexts, str(label)) for label, entry in learners.items()]
    else:
        listed = learners if isinstance(learners, (list, tuple)) else [learners]
        named = [_entrant(entry, oracle, contexts) for entry in listed]
    if not named:
        raise InputError("there is no learner to play; name at least one, such as 'exp4'")
    labels = [one.label for one in named]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two learners are called '{label}'; give each a label of its own")
    return named


def _entrant(entry: Any, oracle: Any, contexts: str, label: str = "") -> Entrant:
    table = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    name, asked, own = table.pop("name", None), table.pop("oracle", oracle), table.pop("label", "")
    if isinstance(name, type) and issubclass(name, Learner):
        target = f"{name.__module__}:{name.__name__}"
        known_as = (known for known, other in registry.entries("learner").items() if other == target)
        cls, called, registered = name, name.__name__, next(known_as, name.__name__)
    elif isinstance(name, str):
        cls, called, registered = registry.load("learner", name), name, name
    else:
        raise InputError(f"a learner is a name, a Learner class, or a table with the key 'name', got {shown(entry)}")
    if asked is not None and not isinstance(asked, str | Mapping):
        raise InputError(f"oracle must be a kind such as 'milp', or a table with the key 'kind', got {shown(asked)}")
    options = {"kind": asked} if isinstance(asked, str) else dict(asked or {})
    return Entrant(label or str(own) or called, registered, cls, table, options, contexts)
