"""A policy class from the command line: its options are those of its constructor."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from milpcb.errors import InputError, did_you_mean
from milpcb.plugins import injection, registry


def class_of(name: str, given: dict[str, Any], arguments: list[str], own: list[str]) -> Any:
    """Make a policy class from --key value pairs; keys are its constructor's arguments.

    ``given`` is known already; ``own`` are the options of the command, for the nearest name of a mistyped one.
    """
    from milpcb.experiments.study.options import check_options, option_names

    cls = registry.load("policies", name)
    table = options_of(name, option_names(cls, given), arguments, own)
    options = check_options(cls, table, name, tuple(given))
    return injection.make(cls, given, options)


def options_of(name: str, known: Iterable[str], arguments: list[str], own: list[str]) -> dict[str, Any]:
    """Return --key value pairs as a table; a value is read as TOML where it is that, else it is a string.

    Raises InputError on a key that is none of the ``known`` ones of ``name``, and on one that is given twice.
    """
    keys = {f"--{key.replace('_', '-')}": key for key in known}
    table: dict[str, Any] = {}
    for option, text in _pairs(arguments):
        if option not in keys:
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
