"""Keys of a config that have new names: the old ones work for one version, with a line that names the new one."""

from __future__ import annotations

import pytest

from milpcb.errors import InputError
from milpcb.experiments.study.config import _NEW_NAMES, parse_config, read_config


def test_an_old_key_is_read_with_a_line_that_names_the_new_one(tiny, tmp_path, caplog):
    """How often states are saved was ``checkpoint_seconds``; the line has the file and the line of the old key."""
    file = tmp_path / "old.toml"
    file.write_text(f"{tiny}\n[run]\ncheckpoint_seconds = 1.5\n")
    assert read_config(file).run.save_seconds == 1.5
    (line,) = caplog.messages
    number = file.read_text().splitlines().index("checkpoint_seconds = 1.5") + 1
    assert line == (
        f"{file}, line {number}: checkpoint_seconds in [run] is called save_seconds now; its old name works until 0.2"
    )


def test_a_new_key_has_no_line(tiny, tmp_path, caplog):
    """The resolved config has the new name alone, and is read without a word."""
    (tmp_path / "new.toml").write_text(f"{tiny}\n[run]\nsave_seconds = 1.5\n")
    config = read_config(tmp_path / "new.toml")
    assert config.table()["run"]["save_seconds"] == 1.5
    assert parse_config(config.table()).run.save_seconds == 1.5
    assert not {key for section in _NEW_NAMES.values() for key in section} & config.table()["run"].keys()
    assert not caplog.messages


def test_both_names_of_a_key_are_refused(tiny, tmp_path):
    """A config that sets a key by its old and by its new name is refused with the line of the old one."""
    file = tmp_path / "both.toml"
    file.write_text(f"{tiny}\n[run]\nsave_seconds = 1.5\ncheckpoint_seconds = 2\n")
    with pytest.raises(InputError, match=r"line \d+: checkpoint_seconds is the old name of save_seconds in \[run\]"):
        read_config(file)
