"""costs/KEY.json of a run directory: what an environment computed for one horizon and seed.

It is kept for all tasks of the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milpcb.core.files import contents, sealed, unsealed, write_file
from milpcb.experiments.results.layout import file_of
from milpcb.experiments.results.schemas import KeptCosts, checked


@dataclass(frozen=True)
class WorldCosts:
    """The file of one world (see Task.world_key).

    Workers that need it at the same time compute the same, and each writes it.
    """

    directory: Path
    key: str

    def load(self) -> Any:
        """Return what was kept; None where there is nothing, or a byte of it is not as it was written."""
        try:
            kept = checked(KeptCosts, unsealed(contents(file_of(self.directory, "costs", self.key))))
        except (OSError, ValueError):
            return None
        return kept["data"] if kept["key"] == self.key else None

    def save(self, data: Any) -> None:
        """Keep plain data; raises RunError when the disk refuses."""
        file = file_of(self.directory, "costs", self.key)
        write_file(file, sealed({"key": self.key, "data": data}), durable=False)
