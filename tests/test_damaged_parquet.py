"""A damaged Parquet file ends in one line of ours, wherever the reader meets the damage."""

import os

import numpy as np
import polars as pl
import pytest

from milpcb.data.tables import DAMAGED, read_table
from milpcb.errors import InputError
from milpcb.logs.read import read_file


@pytest.mark.parametrize("read", [read_table, read_file])
def test_no_damage_shows_the_words_of_the_reader(read, tmp_path, capfd):
    """Lost, changed and cut bytes: neither the message nor standard error has words of polars, or of its panics."""
    rng, path = np.random.default_rng(5), tmp_path / "t.parquet"
    texts = {} if read is read_table else {"s": rng.choice(["a", "b"], 50)}
    pl.DataFrame({"x": rng.normal(size=50), "y": range(50), **texts}).write_parquet(path)
    whole, refused = path.read_bytes(), []
    for _ in range(120):
        at = int(rng.integers(4, len(whole) - 4))
        path.write_bytes(whole[:at] if rng.random() < 0.2 else whole[:at] + rng.bytes(4) + whole[at + 4 :])
        try:
            read(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 30
    assert set(refused) == {f"{path} {DAMAGED}"}
    assert capfd.readouterr().err == ""


def test_what_others_write_meanwhile_is_kept(tmp_path, capfd, monkeypatch):
    """Only the words of a reader that fails are dropped, and standard error is as it was afterwards."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": [1.0]}).write_parquet(path)
    read = pl.read_parquet

    def talks(source):
        os.write(2, b"progress\n")
        return read(source)

    monkeypatch.setattr(pl, "read_parquet", talks)
    assert read_table(path)[1].tolist() == [[1.0]]
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "progress\nafter\n"


def test_a_service_without_standard_error_reads_too(tmp_path, monkeypatch):
    """A descriptor that is closed cannot be kept aside."""
    pl.DataFrame({"x": [1.0]}).write_parquet(tmp_path / "t.parquet")

    def closed(_descriptor):
        raise OSError

    monkeypatch.setattr(os, "dup", closed)
    assert read_table(tmp_path / "t.parquet")[1].tolist() == [[1.0]]
