"""The decorator of compiled functions, the cache of their machine code, and the line shown while they compile.

Machine code is kept in NUMBA_CACHE_DIR, else in the user's cache folder, else beside the source, under a digest of all
files that may be compiled into one another: see "Machine code" under "Safety" in milpcb/README.md.
"""

import hashlib
import pickle
import re
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from milpcb.core import surroundings
from milpcb.core.files import write_file
from milpcb.core.long_search import write
from milpcb.errors import RunError

with surroundings.unseen(".numba_config.yaml"):
    import numba
from numba import njit
from numba.core import caching, config, entrypoints, types
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.extending import intrinsic
from numba.misc.appdirs import AppDirs

surroundings.close(config, entrypoints)

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

LINE = "milpcb: compiling to machine code (about 15 s), once if NUMBA_CACHE_DIR or your cache folder is yours alone"

SEAL = hashlib.sha256().digest_size  # bytes before machine code

# The modules of ours that a file imports when it is imported itself.
_IMPORTED = re.compile(rb"^from ((?:milpcb|policies)[.\w]*) import", re.MULTILINE)


def compiled(flags: Collection[str] = ()) -> Callable[[_Kernel], _Kernel]:
    """Return a decorator that compiles a function at its first call; ``flags`` of floats have LLVM's names ("nnan")."""

    def decorate(kernel: _Kernel) -> _Kernel:
        dispatcher = njit(fastmath=set(flags) or False, no_cfunc_wrapper=True)(kernel)
        if not config.DISABLE_JIT:  # then it is Python's own
            dispatcher.get_call_template = partial(_template, dispatcher.get_call_template)
            dispatcher._cache = _MachineCode(kernel)  # noqa: SLF001 - numba offers no other way
        return cast("_Kernel", dispatcher)

    return decorate


def _template(template: Callable[..., Any], args: Sequence[Any], kws: Any) -> Any:
    """Return how another function calls this one: numba would compile it anew for each constant that is handed over."""
    return template([types.unliteral(arg) for arg in args], kws)


def _lower(typing: Any, a: Any, b: Any) -> Any:
    number, flags = typing.unify_types(a, b), ("nnan", "nsz")

    def choose(_context: Any, builder: Any, _signature: Any, numbers: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *numbers, flags=flags), *numbers, flags=flags)

    return number(number, number), choose


# In compiled functions the lower of two floats, neither of them NaN: numba's own min would not let the compiler take
# the numbers of a loop that keeps a minimum eight at a time.
lower = cast("Callable[[float, float], float]", min if config.DISABLE_JIT else intrinsic(_lower))


class _MachineCode(caching._Cache):  # type: ignore[misc]  # noqa: SLF001 - numba offers no other way
    """Machine code of one function on disk: a file with a checksum for each signature; short ones are as if absent."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        code = kernel.__code__
        self._folder = None if kernel.__closure__ else _folder(Path(code.co_filename))  # no digest knows its values
        self._of = numba.__version__, sys.implementation.cache_tag, kernel.__module__, code.co_firstlineno, code.co_code

    @property
    def cache_path(self) -> str | None:
        """The folder; None where none can be written."""
        return None if self._folder is None else str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled function; None where it is not there, or not whole, and will be compiled."""
        target_context.refresh()
        with suppress(OSError):
            content = self._file(sig, target_context.codegen()).read_bytes()
            if content[:SEAL] == hashlib.sha256(content[SEAL:]).digest():
                signature, parts = pickle.loads(content[SEAL:])  # noqa: S301 - of a folder that no other user can write
                if signature == sig:
                    return CompileResult._rebuild(target_context, *parts)  # noqa: SLF001 - as above
        _announce()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write machine code to disk; where there is no room for it, the next process compiles again."""
        if self._folder and not data.library.has_dynamic_globals:
            content = dumps((sig, data._reduce()))  # noqa: SLF001 - as above
            with suppress(RunError):
                write_file(self._file(sig, data.codegen), hashlib.sha256(content).digest() + content, durable=False)

    def _file(self, sig: Any, codegen: Any) -> Path:
        """Return the file of a signature; raises FileNotFoundError where there is no folder."""
        if self._folder is None:
            raise FileNotFoundError
        named = repr((self._of, sig, codegen.magic_tuple())).encode()
        return self._folder / f"{hashlib.sha256(named).hexdigest()[:32]}.nbc"

    def enable(self) -> None:
        """Do nothing: it is always in use."""

    disable = flush = enable


@cache
def _announce() -> None:
    write(LINE)


@cache
def kernels_digest() -> str:
    """Return the SHA-256 of all files that define compiled functions, and of those whose constants these import."""
    package = Path(__file__).parents[1]
    files = (file for root in (package, package.with_name("policies")) for file in root.rglob("*.py"))
    texts = {file.relative_to(package.parent).as_posix(): file.read_bytes() for file in files}
    kernels = {name for name, text in texts.items() if b"@compiled(" in text or b"def compiled(" in text}
    modules = {module.decode() for name in kernels for module in _IMPORTED.findall(texts[name])}
    names = kernels | {f"{module.replace('.', '/')}.py" for module in modules} & texts.keys()
    return hashlib.sha256(b"\0".join(texts[name] for name in sorted(names))).hexdigest()


def _folder(file: Path) -> Path | None:
    """Return where the machine code of a file of functions is kept, by a digest of all that may be compiled in."""
    if not file.is_file():
        return None
    stamp = hashlib.sha256(kernels_digest().encode() + file.read_bytes()).hexdigest()[:24]
    own = Path(AppDirs(appname="milpcb", appauthor=False).user_cache_dir) / "compiled"
    bases = [Path(config.CACHE_DIR)] if config.CACHE_DIR else [own, file.parent / "__pycache__"]
    return next((base / stamp for base in bases if surroundings.is_own(base / stamp)), None)


@compiled()
def copy(source: Any, target: Any) -> None:
    """Copy numbers (n,) to ``target`` (n,), without the message about shapes that numba compiles for a slice."""
    for i in range(len(source)):
        target[i] = source[i]
