"""Settings of Sphinx for the documentation; assemble.py puts this file beside the pages."""

import inspect
import re
from importlib.metadata import version as installed
from typing import Any

project = "milpcb"
author = "the milpcb developers"
copyright = author  # noqa: A001  # Sphinx reads this name
version = release = installed("milpcb")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_title = "milpcb"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
exclude_patterns = ["gallery_of"]  # sphinx-gallery makes pages of what is there
highlight_language = "text"  # of formulas in docstrings; READMEs name the language of each block

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4  # links such as README.md#limits
suppress_warnings = ["myst.header"]  # READMEs are pages of their own on GitHub, and begin as these do

autosummary_generate = False  # assemble.py writes the pages
autodoc_typehints = "none"  # numpydoc gives the types of the docstrings
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
sphinx_gallery_conf = {
    "examples_dirs": "gallery_of",  # assemble.py puts the scripts there
    "gallery_dirs": "gallery",
    "filename_pattern": r"\d\d_",  # all of them run
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}
copybutton_exclude = ".linenos, .gp, .go"

PARAMETER = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)")


def setup(app: Any) -> None:
    """Let docstrings be changed before numpydoc reads them, and take signatures from Python."""
    app.connect("autodoc-process-docstring", as_numpydoc_reads, priority=1)
    app.connect("autodoc-process-signature", true_signature)


def as_numpydoc_reads(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Put the words on a parameter below its name, where numpydoc looks for them; errors are a paragraph."""
    found, section = [], ""
    for number, line in enumerate(lines):
        if set(line) == {"-"} and number:
            section = lines[number - 1].strip()
        parameter = PARAMETER.fullmatch(line) if section in ("Parameters", "Attributes") else None
        if parameter:
            found += [parameter[1], f"    {parameter[2]}"]
        else:
            found.append(line)
    lines[:] = re.sub(r"(?m)^Raises\n-+\n", "\n.. rubric:: Raises\n\n", "\n".join(found)).split("\n")


def true_signature(_app: Any, what: str, _name: str, found: Any, *_more: Any) -> tuple[str, None] | None:
    """Return the signature of a class as Python has it: a learner's own, not that of what makes learners."""
    if what != "class" or not hasattr(found, "__new__") or found.__new__ is object.__new__:
        return None
    try:
        return str(inspect.signature(found).replace(return_annotation=inspect.Signature.empty)), None
    except (TypeError, ValueError):
        return None
