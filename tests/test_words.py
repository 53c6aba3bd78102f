"""Docstrings and comments begin with a noun, public methods are documented, and a name means one thing."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("milpcb", "policies", "scripts")


@cache
def sources() -> dict[str, str]:
    """Return the text of each of our files, by its place."""
    files = [ROOT / "README.md", *(file for top in PACKAGES for file in (ROOT / top).rglob("*.*"))]
    known = (file for file in files if file.suffix in {".md", ".py", ".toml"})
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in known}


def test_extras_are_installed_from_the_clone():
    """There is no release that pip could find."""
    assert [place for place, text in sources().items() if re.search(r"pip install '?milpcb\b", text)] == []


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
