"""Files of a run directory with right checksums and wrong contents: left out or refused in one line, never followed.

More of them, through the command line, are in tests/stress/hostile_cases.py.
"""

import json
from contextlib import suppress

import pytest

import milpcb
from milpcb.commands.console import err
from milpcb.core.files import sealed, unsealed
from milpcb.errors import MilpcbError
from milpcb.experiments.results import store
from milpcb.experiments.results.figures.results import read_results
from milpcb.experiments.results.report import report
from milpcb.experiments.results.store import read_index
from tests.stress.damages import STRANGE, places, put


@pytest.fixture
def held(tiny, copied):
    """Return the path of a finished run."""
    return copied(tiny)


def record_of(path, kind):
    """Return the file of the first cell or comparator."""
    return path / f"cells/{json.loads((path / 'study.json').read_bytes())[kind][0]['key']}.json"


def forge(file, change):
    """Change a sealed file, and give it the checksum that fits."""
    body = unsealed(file.read_bytes())
    change(body)
    file.write_bytes(sealed(body))


@pytest.mark.parametrize("name", ["../../mine", "/etc/mine", "best_policy_/../../../mine", "leader_x\x1b[2J", "mine"])
def test_a_policy_s_file_leads_nowhere_else(name, held):
    """study.json names files of policies, which a page shows: no file of somewhere else gets there."""
    forge(held / "study.json", lambda body: body["comparators"][0].update(file=name))
    with pytest.raises(MilpcbError, match=r"study\.json: comparators\.0\.file: "):
        report(held)


@pytest.mark.parametrize("name", ["config.toml", "study.json"])
def test_a_page_shows_nothing_that_a_link_leads_to(name, held):
    """A link in a run directory is not read: the page would carry a file of one's own to others."""
    (held.parent / "mine").write_text("a secret")
    (held / name).unlink()
    (held / name).symlink_to(held.parent / "mine")
    with pytest.raises((MilpcbError, OSError)) as refused:
        report(held)
    assert "a secret" not in str(refused.value)


@pytest.mark.parametrize("content", [b"run = [1]\n", b"x = 1\n", b"[experiment]\nname = 3\n", b"\xff", b"= =", None])
def test_a_config_of_another_shape_is_refused_by_pages(content, held):
    """A page shows the settings of a study, and reads no more than these."""
    config = held / "config.toml"
    whole = config.read_bytes()
    config.unlink()
    if content is not None:
        config.write_bytes(content if b"experiment" in content else content + whole)
    for page in (read_results, report):
        with pytest.raises(MilpcbError, match=r"cannot read .*config\.toml: "):
            page(held)


@pytest.mark.parametrize("file", ["study.json", "cells", "comparators"])
def test_every_value_is_checked(file, held):
    """Whatever stands in the place of any one value: what is read is well formed, or one line says that it is not."""
    target = held / file if file == "study.json" else record_of(held, file)
    whole = target.read_bytes()
    for number, path in enumerate(places(unsealed(whole))):
        for value in STRANGE[number % 4 :: 4]:
            target.write_bytes(sealed(put(unsealed(whole), path, value)))
            with suppress(MilpcbError):  # one line, by its constructor
                store.remarks(held)
                assert read_results(held).finals["cumulative_cost"].is_finite().all()
                read_index(held)
    target.write_bytes(whole)
    assert milpcb.load(held).height > 0


def test_a_version_does_not_steer_the_terminal(held, capsys):
    """The versions that a record names are shown on standard error as text."""
    forge(record_of(held, "cells"), lambda body: body["versions"].update(numpy="1\x1b[2J"))
    for line in store.remarks(held):
        err.print(line)
    assert "1\\x1b[2J" in capsys.readouterr().err
