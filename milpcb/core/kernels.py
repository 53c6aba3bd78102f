"""The decorator of compiled functions, the cache of their machine code, and the line shown while they compile.

Machine code is kept in NUMBA_CACHE_DIR, else in the user's cache folder, else beside the source, under a digest of all
files that may be compiled into one another: see "Machine code" under "Safety" in milpcb/README.md.
"""

import hashlib
import pickle
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from milpcb.core import surroundings
from milpcb.core.long_search import write

with surroundings.unseen(".numba_config.yaml"):
    import numba
from numba import njit
from numba.core import caching, config, entrypoints, event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.misc.appdirs import AppDirs

surroundings.close(config, entrypoints)

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

LINE = "milpcb: compiling to machine code (about 10 s), once if NUMBA_CACHE_DIR or your cache folder is yours alone"

# The modules of ours that a file imports when it is imported itself.
_IMPORTED = re.compile(rb"^from ((?:milpcb|policies)[.\w]*) import", re.MULTILINE)


def compiled(flags: Collection[str] = ()) -> Callable[[_Kernel], _Kernel]:
    """Return a decorator that compiles a function at its first call; ``flags`` of floats have LLVM's names ("nnan")."""

    def decorate(kernel: _Kernel) -> _Kernel:
        dispatcher = njit(fastmath=set(flags) or False, no_cfunc_wrapper=True)(kernel)
        if not config.DISABLE_JIT:  # then it is Python's own
            dispatcher.inner = cache(partial(_inner, kernel, flags))
            dispatcher.get_call_template = partial(_template, dispatcher.inner)
            dispatcher.get_overload = lambda signature: dispatcher.inner().get_overload(signature)
        with suppress(RuntimeError):  # no folder can be written, not even the user's
            dispatcher._cache = _Cache(kernel)  # noqa: SLF001 (numba offers no other way to its own cache)
        _notice.ours.add(id(dispatcher))
        return cast("_Kernel", dispatcher)

    return decorate


def _inner(kernel: Callable[..., Any], flags: Collection[str]) -> Any:
    """Return what compiles a function for calls from other compiled functions, whose machine code includes it."""
    dispatcher = njit(fastmath=set(flags) or False, no_cfunc_wrapper=True, no_cpython_wrapper=True)(kernel)
    dispatcher.compile = partial(_compile_inner, dispatcher.compile)
    return dispatcher


def _compile_inner(compile_for: Callable[[Any], Any], signature: Any) -> Any:
    """Compile a function as far as its callers need it: these hold numba's lock, so no other thread compiles."""
    codegen = cpu_target.target_context.codegen()
    kept = codegen._library_class, codegen.set_env  # noqa: SLF001 (numba offers no other way)
    codegen._library_class, codegen.set_env = _InnerLibrary, lambda *_: None  # noqa: SLF001 - as above
    try:
        return compile_for(signature)
    finally:
        codegen._library_class, codegen.set_env = kept  # noqa: SLF001 - as above


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code that is optimised, and turned into machine code, as a part of what calls it: once, not level by level."""

    def _optimize_final_module(self) -> None:
        """Leave it to the caller."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is none: it is not called from outside."""
        del name
        return 0


def _template(inner: Callable[[], Any], args: Sequence[Any], kws: Any) -> Any:
    """Return how another function calls this one: numba would compile it anew for each constant that is handed over."""
    return inner().get_call_template([types.unliteral(arg) for arg in args], kws)


def _lower(typing: Any, a: Any, b: Any) -> Any:
    number, flags = typing.unify_types(a, b), ("nnan", "nsz")

    def choose(_context: Any, builder: Any, _signature: Any, numbers: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *numbers, flags=flags), *numbers, flags=flags)

    return number(number, number), choose


# In compiled functions the lower of two floats, neither of them NaN: numba's own min would not let the compiler take
# the numbers of a loop that keeps a minimum eight at a time.
lower = cast("Callable[[float, float], float]", min if config.DISABLE_JIT else intrinsic(_lower))


class _Locator(caching._CacheLocator):  # type: ignore[misc]  # noqa: SLF001 - numba offers no other way
    """Where the machine code of a function is kept: a folder whose name is a digest of all that may be compiled in."""

    def __init__(self, folder: Path, stamp: str, line: int) -> None:
        self._folder, self._stamp, self._line = folder, stamp, line

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return the line: functions of one name and module differ in it."""
        return str(self._line)

    @classmethod
    def from_function(cls, kernel: Callable[..., Any], file: str) -> Self | None:
        if not Path(file).is_file():
            return None
        stamp = hashlib.sha256(kernels_digest().encode() + Path(file).read_bytes()).hexdigest()
        for base in _folders(Path(file)):
            folder = base / stamp[:24]
            if surroundings.is_own(folder):
                return cls(folder, stamp, kernel.__code__.co_firstlineno)
        return None


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]  # numba has no types
    _locator_classes = [_Locator]  # noqa: RUF012 (numba's own form)


class _File(caching.IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """The index and the machine code of one function on disk, with checksums: what is cut short is as if not there."""

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = _unsealed(self._index_path) or ("", {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return _unsealed(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _write(self, path: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(path) as file:
            file.write(_checksum(content) + content)


def _unsealed(path: str) -> Any:
    """Return what a file of machine code holds; None where it is not there, or not whole."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    whole = content[:size] == _checksum(content[size:])
    return pickle.loads(content[size:]) if whole else None  # noqa: S301 - of a folder that no other user can write


def _checksum(content: bytes) -> bytes:
    """Return the digest of machine code, and of the version of numba that made it."""
    return hashlib.sha256(f"numba {numba.__version__}\n".encode() + content).digest()


class _Cache(caching.FunctionCache):  # type: ignore[misc]  # numba has no types
    _impl_class = _Implementation

    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__(kernel)
        place = self._impl.locator
        self._cache_file = _File(place.get_cache_path(), self._impl.filename_base, place.get_source_stamp())

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write machine code to disk; where there is no room for it, the next process compiles again."""
        with suppress(OSError):
            super().save_overload(sig, data)


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


def _folders(file: Path) -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
        return
    yield Path(AppDirs(appname="milpcb", appauthor=False).user_cache_dir) / "compiled"
    yield file.parent / "__pycache__"


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Writes one line when the first function of a process is about to be compiled."""

    def __init__(self) -> None:
        self.ours, self._announced = set[int](), False

    def on_start(self, event: Any) -> None:
        if not self._announced and id(event.data["dispatcher"]) in self.ours:
            self._announced = True
            write(LINE)

    def on_end(self, event: Any) -> None:
        """Do nothing."""


_notice = _Notice()
event.register("numba:compile", _notice)


@compiled()
def copy(source: Any, target: Any) -> None:
    """Copy numbers (n,) to ``target`` (n,), without the message about shapes that numba compiles for a slice."""
    for i in range(len(source)):
        target[i] = source[i]
