"""The oracles of a config: the common ones, one for each solver of a list, and those that a learner changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from milpcb.errors import InputError, clipped
from milpcb.experiments.study.options import check_options, check_plain, option_names
from milpcb.experiments.study.sections import OracleSection, oracle_label
from milpcb.experiments.study.toml_tables import Tables
from milpcb.oracles import unknown_option
from milpcb.plugins import registry
from milpcb.solvers import load_solver

DEFAULT_KIND = "milp"  # as of open_oracle


def common_oracles(tables: Tables) -> tuple[OracleSection, ...]:
    """Return the common oracles, one for each solver where a list of solvers is given."""
    found: list[OracleSection] = []
    for index in range(len(tables.of("oracle"))):
        for label, table in _by_solver(tables, index):
            options = _checked(tables, table, "oracle", index)
            found.append(OracleSection(label or oracle_label(options), options))
    return tuple(found)


def merged_oracles(tables: Tables, own: dict[str, Any], index: int) -> tuple[OracleSection, ...]:
    """Return the common oracles with a learner's own keys put over them; equal ones once.

    Common options that the learner's own kind does not have were written for other kinds, and are left out.
    """
    found: dict[str, OracleSection] = {}
    for common in range(len(tables.of("oracle"))):
        for label, table in _by_solver(tables, common):
            kind = own.get("kind", table.get("kind", DEFAULT_KIND))
            known = ("kind", *_options(tables, kind, "learners", index))
            options = _checked(tables, {**{key: table[key] for key in table if key in known}, **own}, "learners", index)
            found.setdefault(repr(options), OracleSection(label, options))
    names = [oracle_label(section.options) for section in found.values()]
    distinct = len(set(names)) == len(names)
    return tuple(
        OracleSection(name if distinct else section.label or name, section.options)
        for name, section in zip(names, found.values(), strict=True)
    )


def _by_solver(tables: Tables, index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield label and table of one [oracle] section, once for each solver in its list."""
    table = tables.of("oracle")[index]
    label, solvers = tables.label(table, "oracle", index), table.get("solver")
    plain = {key: table[key] for key in table if key != "label"}
    if not isinstance(solvers, list):
        yield label, plain
        return
    if not solvers:
        with tables.placing("oracle", index, "solver"):
            raise InputError('the list of solvers is empty; name at least one, such as "highs"')
    for solver in solvers:
        yield f"{label}:{solver}" if label else "", {**plain, "solver": solver}


def _options(tables: Tables, kind: Any, section: str, index: int) -> list[str]:
    with tables.placing(section, index, "kind"):
        if not isinstance(kind, str):
            raise InputError(f"kind in [oracle] must be a string, got {clipped(repr(kind))}")
        return option_names(registry.load("oracle", kind), registry.KINDS["oracle"].supplied)


def _checked(tables: Tables, table: dict[str, Any], section: str, index: int) -> dict[str, Any]:
    """Return kind and options, which its class states, all defaults filled in."""
    options = {key: table[key] for key in table if key != "kind"}
    kind = table.get("kind", DEFAULT_KIND)
    own = _options(tables, kind, section, index)
    with tables.placing(section, index, next((key for key in options if key not in own), "")):
        for key in options:
            if key not in own:
                raise InputError(unknown_option(kind, key))
        checked = check_options(registry.load("oracle", kind), options, "[oracle]", registry.KINDS["oracle"].supplied)
        check_plain(checked, "[oracle]")
    if "solver" in checked:
        with tables.placing(section, index, "solver"):
            load_solver(checked["solver"])
    return {"kind": kind, **checked}
