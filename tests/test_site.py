"""The documentation: what is public has a place in its reference, and every README is reached from its first page."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import milpcb
import policies
from milpcb import estimators, learners, offline

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "scripts" / "site" / "pages"
PACKAGES = (milpcb, policies, learners, estimators, offline)


@pytest.fixture(scope="module")
def site(script: Callable[[str], Any]) -> Any:
    """Return scripts/site/assemble.py."""
    return script("site/assemble.py")


def test_every_public_name_is_in_the_reference(site):
    """Every public name is explained on a page, and so is every part that configs name."""
    found = {name.public for _, names in site.reference().values() for name in names}
    missing = [
        f"{package.__name__}.{name}"
        for package in PACKAGES
        for name in package.__all__
        if not name.startswith("__") and not inspect.ismodule(getattr(package, name))
    ]
    assert set(missing) - found == set()


def test_every_page_of_the_reference_is_listed(site):
    """A page that no list names would be found by nobody."""
    listed = re.findall(r"^reference/(\w+)$", (PAGES / "reference.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted([*site.reference(), "commands"])


def test_every_readme_has_its_place(site):
    """Each README is in the list of one page."""
    lists = "\n".join(page.read_text() for page in PAGES.glob("*.md"))
    pages = "README|CONTRIBUTING|SECURITY|CHANGES|account|changes|comparison|coverage|confidence|one_draw|people|trials"
    of_lists = rf"^(?:[\w ]+<)?([\w./-]*(?:{pages}))>?$"
    named = re.findall(of_lists, lists, re.MULTILINE)
    found = [str(page.relative_to(ROOT).with_suffix("")) for page in site.tracked() if page.suffix == ".md"]
    assert sorted(named) == sorted(found)


def test_a_page_names_our_methods_only(site):
    """Estimators bring fifteen methods of scikit-learn's; the page has those that are explained here."""
    pages = {name.public: name.page() for _, names in site.reference().values() for name in names}
    page = pages["milpcb.estimators.LoggedPolicyTree"]
    assert "automethod:: fit\n" in page
    assert "request" not in page
    assert "maketrans" not in pages["milpcb.offline.State"]


def test_commands_say_what_their_help_says(site):
    """The page of the command line holds each command once."""
    text = site.commands()
    assert text.count("$ milpcb learn --help") == 1
    assert "--resamples" in text
