"""The package ``policies`` under a name that no folder or package of somebody else's can hide.

``milpcb.policies`` is that very package, and ``milpcb.policies.trees`` is ``policies.trees``: the same modules and the
same classes, found beside milpcb whatever else is called ``policies`` on the path. What is pickled, printed and
registered goes on under ``policies``. The ``.pyi`` files in this folder are for type checkers.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_REAL = "policies"
_HOME = Path(__file__).parents[2] / _REAL / "__init__.py"


class _Again(Loader):
    """Gives out a module that is imported already."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import system has replaced."""
        module.__spec__ = self._spec


class _Finder(MetaPathFinder):
    """Finds ``milpcb.policies.x`` as the module ``policies.x``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how the module is had; None for all other modules."""
        del path, target
        real = fullname.removeprefix("milpcb.")
        if not fullname.startswith(f"{__name__}.") or find_spec(real) is None:
            return None
        return ModuleSpec(fullname, _Again(import_module(real)))


def _beside_milpcb() -> ModuleType:
    """Import the package ``policies`` that belongs to this milpcb; raises ImportError where another one was first."""
    loaded = sys.modules.get(_REAL)
    if loaded is not None:
        if Path(str(loaded.__file__)).resolve() != _HOME.resolve():
            where = loaded.__file__ or ", ".join(loaded.__path__)
            raise ImportError(
                f"{where} was imported as 'policies' before milpcb's package of that name: "
                "give yours another name, or import milpcb.policies first"
            )
        return loaded
    spec = spec_from_file_location(_REAL, _HOME)
    if spec is None or spec.loader is None:
        raise ImportError(f"milpcb's package 'policies' is not at {_HOME}: install milpcb again")
    module = sys.modules[_REAL] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_REAL]
        raise
    return module


sys.modules[__name__] = _beside_milpcb()
sys.meta_path.insert(0, _Finder())
