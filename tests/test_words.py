"""Names, docstrings and comments use words of the field or of every day; wrapped docstrings stay whole."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from milpcb.plugins import injection, registry

ROOT = Path(__file__).parents[1]
PACKAGES = ("milpcb", "policies", "scripts")

# Use record, report, return, update, resume, check, raise.
PRIVATE = (
    r"beats?|blame|confess|desk|gossip|hears?|heard|knots?|rehears(e|ed|al)"
    r"|says?|said|settle|speak|teach|tells?|told|theatre|whisper"
)
REPLACED = {  # by words of the field
    "yardsticks?": "comparator",
    "points systems?": "scoring system",
    "whole numbers?": "integer",
    "truth values?": "boolean",
    "own_folder": "local classes",
    "mend(s|ed|ing)?": "fix",
    "absent": "missing",
    "shortages?": "slack",
    "staircases?": "dominance",
}
CHECKPOINTS = ["errors", *(f"experiments/{name}" for name in (
    "results/curves", "results/figures/words", "run/hindsight", "run/play", "run/player",
    "run/runner", "run/task", "study/bounds", "study/cells", "study/sections",
))]  # fmt: skip
# Of each rule: the files that it is about, by the beginnings of their places; no place or text of theirs, in small
# letters and with a space before capitals within names, has these words; but for the files that may.
RULES: dict[str, tuple[str, str, set[str]]] = {
    "a word of the field or of every day": (r"\S+\.py", PRIVATE, set()),
    "points may lie in an interval, names may not": (r"\S+\.py", r"lied?(?=[_(:=])|(?<=_)lied?", set()),
    **{f"the field's word is {new}": ("", old, set()) for old, new in REPLACED.items()},
    "there is no release: extras are installed from the clone": ("", r"pip install '?milpcb\b", set()),
    "a cell is one learner's play in a study": (
        r"\S+README\.md", r"cells?", {"milpcb/README.md", "scripts/README.md"},
    ),
    "a table that is read has values, not cells": ("milpcb/data/", r"cells?", set()),
    "a point of a curve; a play goes on from a saved state": (
        r"milpcb/\S+\.py", r"[a-z]*checkpoints?[a-z]*", {f"milpcb/{name}.py" for name in CHECKPOINTS},
    ),
}  # fmt: skip


@cache
def sources() -> dict[str, str]:
    """Return the text of each of our files, by its place."""
    files = [ROOT / "README.md", *(file for top in PACKAGES for file in (ROOT / top).rglob("*.*"))]
    known = (file for file in files if file.suffix in {".md", ".py", ".toml"})
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in known}


@cache
def texts() -> dict[str, str]:
    """Return them as rules read them, the place first."""
    apart = re.compile(r"(?<=[a-z])(?=[A-Z])")
    return {place: apart.sub(" ", f"{place}\n{text}").lower() for place, text in sources().items()}


@pytest.mark.parametrize("rule", RULES)
def test_words_have_one_meaning(rule):
    """The rule holds in every file that it is about, and where it need not the word is still used."""
    places, words, may = RULES[rule]
    pattern = re.compile(rf"(?<![a-z])({words})(?![a-z])")
    lines = {place: [line.strip() for line in text.splitlines() if pattern.search(line)]
             for place, text in texts().items() if re.match(places, place)}  # fmt: skip
    found = {place: lines for place, lines in lines.items() if lines}
    assert found.keys() == may, found


def test_docstrings_and_comments_begin_with_a_noun():
    """Neither a clause nor a pronoun stands for one at the head of a docstring or a comment outside the tests."""
    clause = re.compile(r'(?m)^\s*(?:"""|# )(What|That which|Those that|One that|Whoever|Refused is|Wanted are) ')
    apart = ("scripts/gallery", "scripts/site")
    found = {place: clause.findall(text) for place, text in sources().items() if place.endswith(".py")}
    assert {place: words for place, words in found.items() if words and not place.startswith(apart)} == {}


def test_a_public_method_is_documented_or_overrides_one_that_is():
    """Help on it shows the docstring of what it overrides."""
    files = [path for top in ("milpcb", "policies") for path in (ROOT / top).rglob("*.py")]
    parsed = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    classes = {node.name: node for tree in parsed for node in tree.body if isinstance(node, ast.ClassDef)}

    def ancestors(name: str) -> Iterator[str]:
        for base in classes[name].bases if name in classes else ():
            found = re.match(r"\w+", ast.unparse(base).split(".")[-1])
            yield from (found[0], *ancestors(found[0])) if found else ()

    methods = {name: {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)} for name, node in classes.items()}
    bare = [
        (name, method)
        for name, own in methods.items()
        for method, node in own.items()
        if not (name.startswith("_") or method.startswith("_") or ast.get_docstring(node))
        and not any(
            ast.get_docstring(methods[base][method]) for base in ancestors(name) if method in methods.get(base, ())
        )
    ]
    assert bare == []


def test_no_two_public_classes_share_a_name():
    """A class name means one thing: no two public classes of milpcb and policies, at the top of a module, share one."""
    ours = [text for place, text in sources().items() if re.match(r"(milpcb|policies)/\S+\.py", place)]
    names = [name for text in ours for name in re.findall(r"(?m)^class ([A-Za-z]\w*)", text)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


# A summary must not stop here: whoever wraps lines takes the last full stop for the end of the sentence.
ABBREVIATION = re.compile(
    r"(?<![\w.])(i\.i\.d|e\.g|i\.e|cf|etc|vs|al|w\.r\.t|resp|approx|eq|fig|sec|no)\.$", re.IGNORECASE
)
FITS = 112  # so wide a line has room for a short word, indented as docstrings of methods are


DOCSTRING = re.compile(r'(?:\A|:(?: *#[^\n]*)?\n)( *)"""(.*?)"""', re.DOTALL)  # parsing all tests would take seconds


@cache
def docstrings() -> list[tuple[str, str]]:
    """Return the place and the text of every docstring of ours, those of tests included."""
    found = []
    for top in (*PACKAGES, "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for match in DOCSTRING.finditer(text):
                line = text.count("\n", 0, match.start(2)) + 1
                found += [(f"{path.relative_to(ROOT)}:{line}", inspect.cleandoc(match[2]))] if match[2].strip() else []
    return found


def lone_words(text: str) -> Iterator[str]:
    """Yield the lines of one or two words that wrapping has left in a paragraph.

    More of the paragraph follows such a line, or it would fit at the end of the line before it, or it is the whole
    paragraph. Headings and names that stand above a description are no such lines.
    """
    lines = ["", *text.splitlines(), ""]
    for before, line, after in zip(lines[1:], lines[2:], lines[3:], strict=False):
        if not re.fullmatch(r" *[a-z][^ ]*( [a-z]+)?", line) or (not before.strip(" -=") and before.strip()):
            continue
        follows = bool(before.strip()) and _indent(before) == _indent(line)
        goes_on = bool(after.strip()) and _indent(after) >= _indent(line)
        described = goes_on and bool(before.strip()) and _indent(after) == _indent(line)
        fits = follows and len(before) + 1 + len(line.strip()) <= FITS
        if (follows and goes_on) or described or fits or not (before.strip() or goes_on):
            yield line.strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def test_no_summary_ends_in_an_abbreviation():
    """The first line of a docstring is a whole sentence: it does not stop at the full stop of "i.i.d." or "e.g."."""
    assert ABBREVIATION.search("Learners for i.i.d.")
    assert not ABBREVIATION.search("Costs are drawn i.i.d. each round.")
    summaries = ((place, text.splitlines()[0]) for place, text in docstrings())
    found = [f"{place}: {summary}" for place, summary in summaries if ABBREVIATION.search(summary)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The rate\nis\nthat of them all", ["is"]),
        ("The rate is\nthat.", ["that."]),
        ("Play.\n\nhorizon : how\n    depend on\n    it. None: no end", ["depend on"]),
        ("Learners for i.i.d.\n\nrounds", ["rounds"]),
        ("What it does.\n\nReturns\n-------\nfloat\n    The rate.", []),
        (f"{'x' * FITS}\nend.", []),
    ],
)
def test_what_a_lone_word_is(text, words):
    """Words left over by wrapping are found, names in sections and ends that did not fit are not."""
    assert list(lone_words(text)) == words


def test_no_word_stands_alone_on_a_line():
    """No docstring has a line of one or two words that wrapping has left there."""
    found = [f"{place}: {word}" for place, text in docstrings() for word in lone_words(text)]
    assert not found, "\n".join(found)


# Words that have named several things, in names of modules, and the modules that may be called so.
ONE_MEANING = {
    r"play.*": {
        "milpcb/experiments/run/play.py",  # milpcb.play
        "milpcb/experiments/run/player.py",  # a learner at play
    },
    r"tables?": {"milpcb/data/tables.py"},  # files
}


@pytest.mark.parametrize("word", ONE_MEANING)
def test_a_module_is_called_by_what_it_alone_is(word):
    """No further module is named by a word that has meant several things here."""
    modules = [place for place in texts() if place.startswith(("milpcb", "policies")) and place.endswith(".py")]
    assert {place for place in modules if re.fullmatch(word, Path(place).stem)} == ONE_MEANING[word]


def test_noise_is_a_law():
    """No learner has an option ``noise`` but those whose noise is a registered relaxation; where it is, is noise_on."""
    loaded = {name: registry.load("learner", name) for name in registry.names("learner")}
    assert {name for name, cls in loaded.items() if injection.asks(cls, "noise")} == {"bistro_plus"}
    assert {name for name, cls in loaded.items() if injection.asks(cls, "noise_on")} == {"ftpl"}
