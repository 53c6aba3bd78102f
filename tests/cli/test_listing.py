"""``milpcb list``: every name has a whole sentence, and every option a description."""

from typing import Any, Literal

import click
import pytest

from milpcb.commands.listing import HAVE_OPTIONS, _options, _type, first_sentence
from milpcb.plugins import registry

NAMES = [(kind, name) for kind in registry.KINDS for name in registry.entries(kind)]


@pytest.mark.parametrize(("kind", "name"), NAMES, ids=lambda part: part)
def test_every_name_has_a_whole_sentence(kind: str, name: str) -> None:
    """It ends with a word, is no longer than a line or two, and its brackets are closed."""
    sentence = first_sentence(registry.load(kind, name))
    assert 10 < len(sentence) < 160
    assert sentence[-1].isalnum() or sentence[-1] in ")'\""
    assert sentence.count("(") == sentence.count(")")


@pytest.mark.parametrize(("kind", "name"), [pair for pair in NAMES if pair[0] in HAVE_OPTIONS], ids=lambda part: part)
def test_every_option_has_a_description(kind: str, name: str) -> None:
    """The section Parameters of its docstring names it."""
    assert [option for option, _, _, description in _options(kind, registry.load(kind, name)) if not description] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Phases of ``first``, 2 ``first``, ... rounds. Then more.", "Phases of first, 2 first, ... rounds"),
        ("Costs that are never i.i.d. for long, at 0.5.", "Costs that are never i.i.d. for long, at 0.5"),
        ("No full stop", "No full stop"),
    ],
)  # fmt: skip
def test_a_sentence_ends_where_a_capital_letter_follows(text: str, sentence: str) -> None:
    """Neither dots that stand for more, nor abbreviations, cut it off."""
    assert first_sentence(click.Command("name", help=text)) == sentence


@pytest.mark.parametrize(
    ("hint", "written"),
    [
        (int, "int"),
        (float | None, "float | None"),
        (Literal["a", "b"] | float, '"a" | "b" | float'),
        (list[int], "list[int]"),
        (dict[str, Any] | None, "dict[str, Any] | None"),
    ],
)
def test_types_are_written_as_a_config_needs_them(hint: Any, written: str) -> None:
    """Choices stand there themselves, not under the name that the source gives them."""
    assert _type(hint) == written
