"""State of a learner as plain data and back: attributes by name, each by the kind of its value."""

from typing import Any, ClassVar

import numpy as np

from milpcb import rng


class SavedPart:
    """A part of a learner whose state are the attributes that ``kept`` names."""

    kept: ClassVar[tuple[str, ...]]

    def state(self) -> dict[str, Any]:
        """Return everything that ``restore`` needs, as plain data (JSON-able)."""
        return state_of(self, self.kept)

    def restore(self, state: Any) -> None:
        """Go on from a saved state."""
        restore_into(self, self.kept, state)


def state_of(owner: Any, attributes: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of some attributes as plain data (JSON-able), by their names without a leading underscore."""
    return {name.lstrip("_"): _plain(getattr(owner, name)) for name in attributes}


def restore_into(owner: Any, attributes: tuple[str, ...], state: dict[str, Any]) -> None:
    """Set attributes to what ``state_of`` returned: arrays, generators and parts in place, others of their type."""
    for name in attributes:
        setattr(owner, name, _restored(getattr(owner, name), state[name.lstrip("_")]))


def _plain(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return rng.freeze(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.state() if hasattr(value, "state") else value


def _restored(value: Any, state: Any) -> Any:
    if isinstance(value, np.random.Generator):
        rng.thaw(value, state)
    elif isinstance(value, np.ndarray):
        value[:] = np.reshape(state, value.shape)
    elif hasattr(value, "restore"):
        value.restore(state)
    elif isinstance(value, list) and any(hasattr(part, "restore") for part in value):
        for part, own in zip(value, state, strict=True):
            part.restore(own)
    elif value is not None:
        return type(value)(state)
    elif state is not None:
        raise TypeError(f"{state!r} is given where None was saved")
    return value
