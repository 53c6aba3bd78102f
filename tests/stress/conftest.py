"""How many cases a check draws: a few in every run of the tests, as many as ``--stress N`` says otherwise.

A test whose argument is ``numbers`` gets ranges of the numbers of cases, so that all cores share them; a test whose
argument is ``runs`` gets how many there are in all, from number 0 on, as it looks at rates. The mark ``cases`` has the
number that every run of the tests draws. Lines given to ``record_property("figure", line)`` are printed at the end.
"""

import pytest

PIECE = 25


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Hand out the numbers of cases."""
    mark = metafunc.definition.get_closest_marker("cases")
    if mark is None:
        return
    first = metafunc.config.option.first
    wanted = metafunc.config.option.stress or mark.args[0]
    if "runs" in metafunc.fixturenames:
        metafunc.parametrize("runs", [wanted], ids=str)
        return
    pieces = [range(start, min(start + PIECE, first + wanted)) for start in range(first, first + wanted, PIECE)]
    metafunc.parametrize("numbers", pieces, ids=lambda numbers: f"{numbers.start}-{numbers.stop - 1}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the figures of the checks."""
    if not config.option.stress:
        return
    for report in (*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])):
        for name, line in getattr(report, "user_properties", []):
            if name == "figure" and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid.rpartition('/')[2]}: {line}")
