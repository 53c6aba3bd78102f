"""Output of commands on terminals of few letters."""

import io

import pytest

from milpcb.commands.console import PlainConsole
from milpcb.core.decimals import number
from milpcb.core.text import encodable

TEXT = f"{number(-12345.6)} \u00b1 3 \u00b5s"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", TEXT), ("ascii", "-12 346 ~ 3 us"), ("latin-1", "-12 346 ~ 3 us"), ("cp1252", "-12 346 ~ 3 us")],
)
def test_numbers_are_printed_in_the_letters_of_the_terminal(encoding, shown):
    """A thin space, a minus or a plus-minus that the encoding lacks becomes a plain letter of the same width."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    PlainConsole(file=file, highlight=False).print(TEXT)
    file.flush()
    assert file.buffer.getvalue().decode(encoding) == shown + "\n"
    assert len(shown) == len(TEXT)


def test_other_letters_become_question_marks():
    """A name of another script is no error."""
    assert encodable("caf\u00e9 \u65e5\u672c", "ascii") == "caf? ??"
