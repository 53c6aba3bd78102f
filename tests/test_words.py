"""Names, docstrings and comments use words of the field or of every day; wrapped docstrings stay whole."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from milpcb.plugins import injection, registry

ROOT = Path(__file__).parents[1]
PACKAGES = ("milpcb", "policies", "scripts")

# Use record, report, return, update, resume, check, raise.
FORBIDDEN = re.compile(
    r"beats?|blame|confess|desk|gossip|hears?|heard|knots?|rehears(e|ed|al)"
    r"|says?|said|settle|speak|teach|tells?|told|theatre|whisper"
)
IN_NAMES = re.compile(rf"lied?|{FORBIDDEN.pattern}")  # in a sentence, points may lie in an interval

# Words that the field's have replaced, and the files that still name them.
REPLACED = {
    "yardsticks?": ("comparator", set()),
    "points systems?": ("scoring system", set()),
    "whole numbers?": ("integer", set()),
    "truth values?": ("boolean", set()),
    "own_folder": ("local classes", set()),
    "mend(s|ed|ing)?": ("fix", set()),
    "absent": ("missing", set()),
    "shortages?": ("slack", set()),
    "staircases?": ("dominance", set()),
}


# A definition, up to the end of its line, and what it takes; parsing all files would take seconds.
DEFINED = re.compile(
    r"\b(?:def|class) (\w+)(?:\((.*?)\))?(?: -> [^\n]*)?:(?: *#[^\n]*)?\n|\blambda ([\w, *]+):", re.DOTALL
)


def names() -> Iterator[tuple[str, str]]:
    """Yield the place and the name of every module, class, function and argument of ours."""
    for top in PACKAGES:
        for path in sorted((ROOT / top).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            yield from ((place, part) for part in path.relative_to(ROOT).with_suffix("").parts)
            for found in DEFINED.finditer(path.read_text(encoding="utf-8")):
                yield from ((place, name) for name in re.findall(r"\w+", " ".join(filter(None, found.groups()))))


@cache
def is_private(name: str) -> bool:
    """Return whether one of the words of ``a_name`` or ``AName`` is in the list above; most names come often."""
    return any(IN_NAMES.fullmatch(word.lower()) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name))


def test_no_private_vocabulary_in_names():
    """No module, class, function or argument has a word of the list above in its name."""
    found = [f"{place}: {name}" for place, name in names() if is_private(name)]
    assert not found, "\n".join(found)


def test_no_private_vocabulary_in_docstrings_and_comments():
    """No line of milpcb or policies has a word of the list in it, be it a docstring, a comment or a message."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for top in ("milpcb", "policies")
        for path in sorted((ROOT / top).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if any(map(FORBIDDEN.fullmatch, re.findall("[a-z]+", line.lower())))
    ]
    assert not found, "\n".join(found)


def test_docstrings_and_comments_begin_with_a_noun():
    """Neither a clause nor a pronoun stands for one at the head of a docstring or a comment outside the tests."""
    clause = re.compile(r'\s*("""|# )(What|That which|Those that|One that|Whoever|Refused is|Wanted are) ')
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for top in ("milpcb", "policies", "scripts/benchmarks", "scripts/checks", "scripts/reproduce")
        for path in sorted((ROOT / top).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if clause.match(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", REPLACED)
def test_a_word_that_was_replaced_does_not_come_back(word):
    """No file of ours, READMEs included, has a word for which the field has another; stored files are still read."""
    pattern = re.compile(rf"(?<![a-z])({word})(?![a-z])")
    found = {place for place, text in texts().items() if pattern.search(text)}
    assert found == REPLACED[word][1], f"the field's word is {REPLACED[word][0]}"


@cache
def texts() -> dict[str, str]:
    """Return the text of each of our files, in small letters, with a space before capitals within names."""
    files = [ROOT / "README.md", *(file for top in PACKAGES for file in (ROOT / top).rglob("*.*"))]
    return {
        str(file.relative_to(ROOT)): re.sub(r"(?<=[a-z])(?=[A-Z])", " ", file.read_text(encoding="utf-8")).lower()
        for file in files
        if file.suffix in {".md", ".py", ".toml"}
    }


def test_extras_are_installed_from_the_clone():
    """There is no release, so no page and no message may name one: all have the form that the first page has."""
    assert not [place for place, text in texts().items() if re.search(r"pip install '?milpcb\b", text)]


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
    places: dict[str, list[str]] = {}
    for top in ("milpcb", "policies"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    shared = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not shared, "\n".join(shared)


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
    "play": (
        r"play.*",
        {
            "milpcb/experiments/run/play.py",  # milpcb.play
            "milpcb/experiments/run/player.py",  # a learner at play
            "milpcb/theory/player.py",  # the player of the game in the proofs
        },
    ),
    "table": (r"tables?", {"milpcb/data/tables.py"}),  # files
}


@pytest.mark.parametrize("word", ONE_MEANING)
def test_a_module_is_called_by_what_it_alone_is(word):
    """No further module is named by a word that has meant several things here."""
    paths = [path.relative_to(ROOT) for top in ("milpcb", "policies") for path in (ROOT / top).rglob("*.py")]
    assert {str(path) for path in paths if re.fullmatch(ONE_MEANING[word][0], path.stem)} == ONE_MEANING[word][1]


def test_a_cell_is_of_a_study():
    """On pages, in messages on files and in names of the data package a cell is one learner's play in a study."""
    pages = {place for place, text in texts().items() if place.endswith("README.md") and re.search(r"\bcells?\b", text)}
    assert pages == {"milpcb/README.md", "scripts/README.md"}
    in_files = [place for place, text in texts().items() if "milpcb/data/" in place and re.search(r"\bcells?\b", text)]
    assert not in_files, "a table that is read has values"


def test_noise_is_a_law():
    """No learner has an option ``noise`` but those whose noise is a registered relaxation; where it is, is noise_on."""
    loaded = {name: registry.load("learner", name) for name in registry.names("learner")}
    assert {name for name, cls in loaded.items() if injection.asks(cls, "noise")} == {"bistro_plus"}
    assert {name for name, cls in loaded.items() if injection.asks(cls, "noise_on")} == {"ftpl"}


def test_a_checkpoint_is_a_point_of_a_curve():
    """A round that is logged is a checkpoint, as the config has it; what a play goes on from is a saved state."""
    of_curves = {"errors", "curves", "hindsight", "player", "play", "task", "bounds"}
    of_curves |= {"cells", "sections", "words", "runner"}
    found = {
        path for path in (ROOT / "milpcb").rglob("*.py") if "checkpoint" in path.read_text(encoding="utf-8").lower()
    }
    assert {path.stem for path in found} == of_curves
