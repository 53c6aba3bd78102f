"""Numbers in SQL are read as exactly the float that the policy compares with, however the processor rounds."""

import ctypes
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pytest

from policies.exports.sql import literal

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the settings of the processor are set by glibc's names")
PRECISION = """
import ctypes, sqlite3
from milpcb.oracles import open_oracle
from policies import DecisionTrees
def settings():
    kept = ctypes.create_string_buffer(256)
    ctypes.CDLL(None).fegetenv(kept)
    return kept.raw[:2]
before = settings()
contexts, costs = [[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]]
open_oracle(DecisionTrees(2, depth=1), contexts, kind="milp", solver="xpress").minimise(costs)
assert settings() == before, (before, settings())
number = -8.93581510298914e-10
assert sqlite3.connect(":memory:").execute(f"SELECT {number!r}").fetchone()[0] == number
"""


def numbers():
    """Return floats of every size, of few and of many digits."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=1500) * 10.0 ** rng.integers(-30, 30, 1500)
    middles = (rng.integers(0, 10**9, 1500) + rng.integers(0, 10**9, 1500)) / 2e9
    short = [float(f"{a}e{e}") for a, e in zip(rng.integers(1, 10**15, 1500), rng.integers(-22, 8, 1500), strict=True)]
    return [*wide.tolist(), *middles.tolist(), *short, 5e-324, 1e308, -1.7e-300, 2.0**62 + 2**20, 0.1, 1e22, 2.0**80]


@pytest.fixture(params=[64, pytest.param(53, marks=LINUX)])
def digits(request):
    """Let the processor compute with 64 digits, or with 53 as some libraries leave it."""
    if request.param == 64:
        yield
        return
    library, kept = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    library.fegetenv(kept)
    if kept.raw[:2] != b"\x7f\x03":
        pytest.skip("no x87 processor")
    library.fesetenv(ctypes.create_string_buffer(b"\x7f\x02" + kept.raw[2:], 256))
    try:
        yield
    finally:
        library.fesetenv(kept)


@pytest.mark.usefixtures("digits")
def test_every_number_is_read_as_itself():
    """SQLite rounds decimals twice, and with 53 digits otherwise; what is written stands above either."""
    base = sqlite3.connect(":memory:")
    assert [x for x in numbers() if base.execute(f"SELECT {literal(x)}").fetchone()[0] != x] == []


def test_another_database_reads_the_same():
    """The form is SQL of all databases, and its arithmetic is exact."""
    drawn = numbers()[::5]
    assert list(duckdb.sql(f"SELECT {', '.join(map(literal, drawn))}").fetchall()[0]) == drawn


def test_decimals_that_people_write_stay_as_they_are():
    """A cut that is read alike everywhere is not taken apart."""
    assert [literal(x) for x in (0.5, 2.25, 1e-5, 40.0, 0.1, 686.5)] == [
        "0.5e0",
        "2.25e0",
        "1e-05",
        "40",
        "0.1e0",
        "686.5e0",
    ]
    assert literal(2.0**-70) == "(1e0 / 4611686018427387904e0 / 256e0)"
    assert literal(-3 * 2.0**132) == "(-3e0 * 4611686018427387904e0 * 4611686018427387904e0 * 256e0)"


@LINUX
def test_xpress_leaves_the_processor_as_it_was():
    """Its library sets 53 digits when it is loaded; the adapter puts the settings back, so that decimals stay exact."""
    pytest.importorskip("xpress")
    done = subprocess.run([sys.executable, "-c", PRECISION], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
