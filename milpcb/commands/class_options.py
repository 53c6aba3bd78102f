"""A policy class or an estimator from the command line: options are those of its constructor, and of the command."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from milpcb.errors import InputError, UnknownNameError, did_you_mean
from milpcb.experiments.study.config import check_options
from milpcb.plugins import injection, local_classes, registry

if TYPE_CHECKING:
    from milpcb.logs.source import Source

OPEN = {"ignore_unknown_options": True, "allow_extra_args": True}  # settings of a command with options of a class
of_class = click.option(
    "--policies", "name", default="decision_trees", show_default=True, help="Policy class, see milpcb list."
)
ESTIMATORS = {
    "decision_trees": "LoggedPolicyTree",
    "threshold_rules": "LoggedThresholdRule",
    "rule_lists": "LoggedRuleList",
    "linear_rules": "LoggedScoringRule",
}
HERE = (
    "constraints", "monotone", "missing", "treatment_cost", "random_state", "policies", "model_outcome",
    "model_propensity",
)  # fmt: skip


def class_of(name: str, given: dict[str, Any], arguments: list[str], command: click.Command) -> Any:
    """Make a policy class, perhaps of the current folder, from --key value pairs and the arguments ``given``."""
    local_classes.look_in(Path.cwd())
    cls = registry.load("policies", name)
    table = options_of(name, injection.options(cls, given), arguments, command)
    options = check_options(cls, table, name, tuple(given))
    return injection.make(cls, given, options)


def options_of(name: str, known: Iterable[str], arguments: list[str], command: click.Command) -> dict[str, Any]:
    """Return --key value pairs as a table, values as TOML or else strings; InputError on unknown and double keys."""
    keys = {f"--{key.replace('_', '-')}": key for key in known}
    table: dict[str, Any] = {}
    for option, text in _pairs(arguments):
        if option not in keys:
            own = [each for parameter in command.params for each in parameter.opts if each.startswith("--")]
            raise InputError(f"unknown option '{option}' of {name}{did_you_mean(option, [*keys, *own])}")
        if keys[option] in table:
            raise InputError(f"option {option} is given twice, and takes one value: give it once")
        try:
            table[keys[option]] = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # no number, list or boolean: a string
            table[keys[option]] = text
    return table


def _pairs(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Yield option and value of ``--key value`` and ``--key=value``; ``--some_key`` is ``--some-key``."""
    left = iter(arguments)
    for argument in left:
        option, equals, text = argument.partition("=")
        value = text if equals else next(left, None)
        if not option.startswith("--") or value is None:
            raise InputError(f"cannot read '{argument}': options of a policy class are pairs like --depth 2")
        yield option.replace("_", "-"), value


def named_options(arguments: list[str]) -> set[str]:
    """Return the keys of ``--key value`` pairs."""
    return {option.removeprefix("--").replace("-", "_") for option, _ in _pairs(arguments)}


def estimator_of(source: Source, given: dict[str, Any], arguments: list[str], command: click.Command) -> Any:
    """Return the estimator that the options of ``milpcb learn`` describe: those ``given``, and ``arguments``."""
    from milpcb import estimators

    if given["name"] not in ESTIMATORS:
        raise UnknownNameError("policy class of milpcb learn", given["name"], ESTIMATORS)
    cls = getattr(estimators, ESTIMATORS[given["name"]])
    known = [name for name in cls().get_params(deep=False) if name not in HERE]
    options = options_of(given["name"], known, arguments, command)
    if given["depth"] is not None:
        if "max_depth" in options or "max_depth" not in known:
            raise InputError("--depth is short for the --max-depth of trees: give one of them, and only for trees")
        options["max_depth"] = given["depth"]
    costs = {
        action: cost if cost in source.table.columns else _number(cost, text)
        for text, action, cost in split(given["treatment_cost"], "=", source)
    }
    return cls(
        **options,
        treatment_cost=costs or None,
        random_state=given["seed"],
        missing=given["missing_side"],
        constraints=list(_constraints(given, source)),
        monotone=dict(_ways(given["monotone"])) or None,
    )


def _ways(texts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for text in texts:
        column, _, way = (part.strip() for part in text.rpartition("="))
        if way not in ("more", "less") or not column:
            raise InputError(f"cannot read --monotone '{text}': write COLUMN=more or COLUMN=less")
        yield column, way


def _constraints(given: dict[str, Any], source: Source) -> Iterator[Any]:
    from milpcb import estimators

    for text, action, share in split(given["at_most"], "=", source):
        yield estimators.share_at_most(action, _number(share, text))
    for make, name in ((estimators.never, "never"), (estimators.always, "always")):
        for _, action, condition in split(given[name], ":", source):
            yield make(action, condition)
    for text, action, rest in split(given["parity"], ":", source):
        group, _, delta = rest.rpartition("=")
        yield estimators.parity(action, group.strip(), _number(delta, text))


def rule_of(text: str, source: Source) -> Any:
    """Return the constraint of a text as options have it, "never call: age > 70"; None of others; InputError."""
    option, _, rest = text.partition(" ")
    names = ("at-most", "never", "always", "parity")
    given = {name.replace("-", "_"): (rest,) if option == name else () for name in names}
    return next(_constraints(given, source), None)


def split(texts: tuple[str, ...], sign: str, source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield each text, its action, and the text after the sign."""
    for text in texts:
        action, found, rest = text.partition(sign)
        if not found or not rest.strip():
            raise InputError(f"cannot read '{text}': write ACTION{sign} and its value, as --help shows")
        yield text, action_of(action.strip(), source), rest.strip()


def action_of(action: str, source: Source) -> str:
    """Return an action of the log; raises UnknownNameError for another."""
    if action not in source.log.actions:
        raise UnknownNameError("action", action, source.log.actions)
    return action


def _number(text: str, whole: str) -> float:
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise InputError(f"cannot read '{whole}': '{text}' is no number") from error
