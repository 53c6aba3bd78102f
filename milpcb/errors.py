"""Errors a user can fix: each message is one line that names what is wrong and how to fix it."""

import difflib
import linecache
import os
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = "out of memory; make the policy class, the contexts or the number of checkpoints smaller, or allow more memory"
# Parts of the messages of libraries that the system gives no memory: for their code, for their data, for a thread.
_NO_MEMORY = ("map segment", "allocate memory", "start new thread")
LONGEST = 60  # characters of a name in a message
_HERE = Path(__file__).parent
# They call what is somebody else's.
_RESOLVERS = tuple(str(_HERE / "plugins" / name) for name in ("registry.py", "injection.py"))
_PYTHONS = (sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib"))
_INSTALLED = tuple(f"{path}{os.sep}" for path in (*_PYTHONS, _HERE, _HERE.parent / "policies"))


# The modules that each extra of pyproject.toml brings. A learner or environment that needs one for itself has its name.
EXTRAS = {
    "studies": {
        "click", "filelock", "jinja2", "matplotlib", "polars", "pydantic", "rich", "sklearn", "threadpoolctl",
        "tomli_w",
    },
    "learn": {"narwhals", "polars", "sklearn"},
    "interactive": {"plotly"},
    "vw": {"vowpalwabbit"},
    "contextualbandits": {"contextualbandits"},
}  # fmt: skip


class MilpcbError(Exception):
    """Base of every error raised on purpose; the command line prints it as one line and exits with 2."""

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(str(message).split()))


class InputError(MilpcbError, ValueError):
    """An argument, a file or a config key is wrong."""


class UnknownNameError(InputError):
    """A name that no registry entry or key carries."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        text = f"'{clipped(name)}'" if isinstance(name, str) else shown(name)
        super().__init__(f"unknown {kind} {text}{did_you_mean(name, known)}")


class SearchTooLargeError(InputError):
    """The search would keep or compare too much under these side constraints; a solver may still answer."""


class SolverMissingError(MilpcbError):
    """The solver that the config names cannot run here; the message shows how to install it."""


class ExtraMissingError(MilpcbError, ImportError):
    """The packages of a part of milpcb are not installed; the message gives the pip line."""


class SolverFailedError(MilpcbError):
    """The solver stopped without an answer, for a reason outside the model."""


class SolverLicenceError(SolverFailedError):
    """The licence that a solver found does not allow the program, as it is too large; with the vendor's own words."""


class OracleInexact(MilpcbError):  # noqa: N818 - the name is fixed by the contract
    """The solver did not prove the value of a query."""


class OracleDisagreement(MilpcbError):  # noqa: N818 - a sibling of OracleInexact
    """Two exact routes to the same value gave different answers: one of them is wrong."""


class InfeasibleError(MilpcbError):
    """No policy of the class satisfies the side constraints."""


class LogWarning(UserWarning):
    """Warning about a property of a log, or of rows that come later, that weakens conclusions from it."""


class RunError(MilpcbError):
    """A run directory cannot be read, written or continued."""


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turn the failed import of a package of ``extra`` in the block into ExtraMissingError, one line about ``what``."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS[extra]:
            raise
        raise ExtraMissingError(f"{what} needs the extra '{extra}': pip install '.[{extra}]' in the clone") from error


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return '; did you mean ...?' when a known name is near, else the list of all known names."""
    names = sorted(known)
    by_lower = {known_name.lower(): known_name for known_name in names}
    near = difflib.get_close_matches(clipped(name).lower(), by_lower, n=1, cutoff=0.5) if isinstance(name, str) else []
    return f"; did you mean '{by_lower[near[0]]}'?" if near else f"; known: {', '.join(names)}"


def clipped(text: str, longest: int = LONGEST) -> str:
    """Return text that a user wrote as a message shows it: on one line, with its middle left out where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest // 2]}...{line[-(longest // 2) :]}"


def cause(error: BaseException) -> str:
    """Return the cause of an error in foreign code, on one line with its deepest place outside installed packages."""
    if out_of_memory(error):
        return MEMORY
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    what = f"{type(error).__name__}: {clipped(str(error), 300)}" if str(error) else type(error).__name__
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    called = [(name, line) for name, line in frames if not name.startswith(("<frozen", *_RESOLVERS))]
    own = [(name, line) for name, line in called if not (name.startswith(_INSTALLED) or _is_compiled(name))]
    return next((f"{name}, line {line}: {what}" for name, line in reversed(own or called)), what)


def traced(error: BaseException) -> str:
    """Return the traceback of an error, without the lines of compiled code, whose sources have relative paths.

    Python would read a file of that name in the current folder, which may be anybody's, or wait for a pipe.
    """
    found, errors = traceback.TracebackException.from_exception(error, lookup_lines=False), [error]
    for each in errors:  # it grows
        errors += [other for other in (each.__cause__, each.__context__) if other is not None and other not in errors]
        for frame, _ in traceback.walk_tb(each.__traceback__):
            name = frame.f_code.co_filename
            if _is_compiled(name):
                linecache.cache[name] = (0, None, [], name)
    return "".join(found.format())


def _is_compiled(name: str) -> bool:
    return not (name.startswith("<") or Path(name).is_absolute())


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory was too small, in the words of any library."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _NO_MEMORY)


def shown(value: object) -> str:
    """Return a value as messages show it: its repr on one line, its middle left out where it is long."""
    try:
        return clipped(repr(value))
    except Exception:  # noqa: BLE001 - a number of 5 000 digits, or a repr that fails: the message must be had
        return f"a {type(value).__name__}"
