"""Errors of others on one line: what they say where memory is too small."""

import os
from pathlib import Path

import numpy as np
import pytest

from milpcb.errors import MEMORY, cause, traced


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libhighs.so: cannot allocate memory in static TLS block"),
        ImportError("core.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_too_little_memory_has_one_line(error: Exception) -> None:
    """However a library puts it."""
    assert cause(error) == MEMORY


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).write_text("foreign text\n" * 2000)])
def test_no_source_is_read_from_the_current_folder(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where a file, or a pipe that nobody writes, is called as a source of compiled code is."""
    monkeypatch.chdir(tmp_path)
    Path("numpy/random").mkdir(parents=True)
    for name in ("_generator.pyx", "_bounded_integers.pyx"):
        make(f"numpy/random/{name}")
    with pytest.raises(ValueError, match="low >= high") as raised:
        np.random.default_rng(0).integers(5, 2)
    later = TypeError("in turn")
    later.__cause__ = raised.value
    told = traced(later)
    assert "_bounded_integers.pyx" in told
    assert "foreign" not in told
    assert "np.random.default_rng(0).integers(5, 2)" in told
    assert cause(raised.value).startswith(__file__)
