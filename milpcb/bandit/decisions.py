"""Decisions, and the record that a bandit keeps of them: which are open, and which were learnt.

An id is SESSION-NUMBER-TOKEN. A session has a random name; a new one begins when a bandit is made, loaded, copied or
forked, and numbers its decisions. So no id is given twice, and the record need not list learnt decisions: in a known
session, every number below the count that is not open was learnt, or given up.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from time import time
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from milpcb.core import gate
from milpcb.core.checks import unit_cost, whole
from milpcb.data.columns import Value
from milpcb.errors import InputError, clipped, shown
from milpcb.types import Aside

if TYPE_CHECKING:
    from milpcb.bandit.rule import Why


@dataclass(frozen=True)
class Override:
    """A decision that a person overrode: the action drawn, the action played ``instead``, and the reason."""

    decision: str  # its id
    action: str | int
    instead: str | int
    by: str
    reason: str
    made: float = field(default_factory=time)  # when it was overridden (Unix time)
    cost: float | None = None  # in [0, 1], None while it is not known

    def __post_init__(self) -> None:
        if str(self.instead) == str(self.action):
            done = f"decision '{self.decision}' was '{self.instead}' already"
            raise InputError(f"{done}: nothing is overridden; learn its cost")
        for name, given in (("by", self.by), ("reason", self.reason)):
            if not isinstance(given, str) or (name == "by" and not given.strip()):
                raise InputError(f'{name} must be text, as in by="AB", reason="...", got {shown(given)}')
        unit_cost("the cost", self.cost or 0.0)


makers: WeakValueDictionary[str, Any] = WeakValueDictionary()  # the bandit of this process that made it, by session


@dataclass(frozen=True)
class Decision:
    """Action for one context, with all that is needed to learn its cost, even after a crash.

    Attributes
    ----------
    id : unique; ``Bandit.learn`` takes it in place of the decision where the bandit knows the decision
    action : its name, or its number where the class has no names
    probability : with which it was drawn; 1 where the learner draws within ``act`` (Learner.hides_law)
    probabilities : of every action, in the order of the class
    context : the features as they came, in the order of the class
    beside : names and values of columns that only constraints and groups read
    seal : signature of all other fields by the bandit's key
    rule_number, leaf : the rule in force, if any, and the part of it that the context is in; see Bandit.rule

    """

    id: str
    action: str | int
    probability: float
    probabilities: tuple[float, ...]
    context: tuple[Value, ...]
    beside: tuple[tuple[str, Value], ...] = ()
    seal: str = ""
    rule_number: int | None = None
    leaf: int | None = None

    def to_json(self) -> str:
        """Return the decision as JSON."""
        return json.dumps(asdict(self), allow_nan=False)

    def why(self) -> Why:
        """Return why the decision was made, see Bandit.why; raises InputError where its bandit is in no variable."""
        maker = makers.get(self.id.partition("-")[0])
        if maker is None:
            raise InputError(f"the bandit of '{clipped(self.id)}' is gone: load it, and ask bandit.why(decision)")
        found: Why = maker.why(self)
        return found

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Self:
        """Return the decision that ``to_json`` wrote, from the text or a mapping; raises InputError on others."""
        try:
            document = dict(text if isinstance(text, Mapping) else gate.read_json(text))
            lists = {name: tuple(document[name]) for name in ("probabilities", "context")}
            beside = tuple((str(name), value) for name, value in document["beside"])
            return cls(**document | lists | {"beside": beside})
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise InputError(f"this is no decision as Decision.to_json wrote it: {clipped(str(error))}") from error


@dataclass
class Open:
    """A decision whose cost is not known yet."""

    decision: Decision
    action: int  # the number of the action drawn, a replacement of which may be played
    aside: Aside  # the round of the learner
    groups: list[int]  # of the bandit's, by number
    made: float  # Unix time


class Book:
    """The decisions of one bandit: those ``open`` and ``overridden``, by id in order; how many were ``given_up``."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._counts: dict[str, int] = {}  # decisions made in each session
        self._strangers: set[str] = set()  # ids learnt that no session here counts
        self.open: dict[str, Open] = {}
        self.given_up = 0
        self.overridden: dict[str, Override] = {}
        self.begin_session()

    def begin_session(self) -> None:
        """Number decisions anew from here on; earlier ones keep their ids."""
        self.session = secrets.token_hex(8)

    def enter(self, decision: Decision, action: int, aside: Aside, groups: list[int]) -> Decision:
        """Return a new decision with an id and a seal; it is open, with the round and the groups that belong to it."""
        number = self._counts.get(self.session, 0)
        named = replace(decision, id=f"{self.session}-{number}-{secrets.token_hex(8)}")
        made = replace(named, seal=self._seal(named))
        self._counts[self.session] = number + 1
        self.open[made.id] = Open(made, action, aside, groups, time())
        return made

    def find(self, given: object, *, ended: bool = False) -> Decision:
        """Return a decision of this bandit that is open, or may have ``ended``; raises InputError on any other."""
        given = _as_stored(given)
        name = given.id if isinstance(given, Decision) else given
        if not isinstance(name, str):
            wanted = "a Decision, or its id, or the text of Decision.to_json"
            raise InputError(f"a bandit takes {wanted}; got {shown(given)}")
        if isinstance(given, Decision) and not self._ours(given):
            raise InputError(f"decision '{clipped(name)}' is another bandit's, or was changed: its seal does not fit")
        if name in self.open:
            return self.open[name].decision
        if not ended and (name in self._strangers or self._counted(name)):
            raise InputError(f"decision '{clipped(name)}' is not open: it was learnt already, or given up")
        if not isinstance(given, Decision):
            raise InputError(f"decision '{clipped(name)}' is not known here: pass it whole, see Decision.to_json")
        return given

    def close(self, name: str, *, learnt: bool) -> None:
        """Record that a decision was learnt, or else given up."""
        self.given_up += not learnt
        if self.open.pop(name, None) is None:
            self._strangers.add(name)

    def override(self, known: Open, override: Override) -> None:
        """Record that a person overrode a decision; it stays open until its cost is known, or it is given up."""
        name = known.decision.id
        self.overridden[name] = override
        if name not in self.open:  # it was made after this book was saved, nobody knows when
            self._strangers.add(name)
            self.open[name] = replace(known, made=override.made)

    def awaited(self) -> str | None:
        """Return the id of a decision that is open and was not overridden, None for none."""
        return next((name for name in self.open if name not in self.overridden), None)

    def older(self, age: timedelta) -> list[str]:
        """Return the ids of the open decisions that were made at least ``age`` ago."""
        return [name for name, known in self.open.items() if known.made <= time() - age.total_seconds()]

    def state(self) -> dict[str, Any]:
        """Return the record as plain data, without decisions open or overridden: these would hold the lock for long."""
        return {
            "key": self._key.hex(),
            "sessions": dict(self._counts),
            "strangers": sorted(self._strangers),
            "given_up": self.given_up,
            "overridden": list(self.overridden.values()),
            "open": list(self.open.values()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state, see ``begin_session``; raises InputError, LookupError, TypeError, ValueError."""
        self._key = bytes.fromhex(state["key"])
        self._counts = {str(name): whole("a count", count, 0) for name, count in state["sessions"].items()}
        self._strangers = set(map(str, state["strangers"]))
        self.given_up = whole("given_up", state["given_up"], 0)
        self.overridden = {entry["decision"]: Override(**entry) for entry in state["overridden"]}
        for entry in state["open"]:
            decision = Decision.from_json(entry["decision"])
            if not self._ours(decision):
                raise ValueError(f"decision '{clipped(decision.id)}' was changed")
            self.open[decision.id] = Open(**entry | {"decision": decision, "aside": Aside(*entry["aside"])})

    def _counted(self, name: str) -> bool:
        session, _, rest = name.partition("-")
        number = rest.partition("-")[0]
        return number.isdecimal() and int(number) < self._counts.get(session, 0)

    def _ours(self, decision: Decision) -> bool:
        try:
            return hmac.compare_digest(decision.seal, self._seal(decision))
        except (TypeError, ValueError):  # it holds what no decision does
            return False

    def _seal(self, decision: Decision) -> str:
        content = [value for name, value in vars(decision).items() if name != "seal"]
        return hashlib.blake2b(json.dumps(content).encode(), key=self._key, digest_size=32).hexdigest()


def _as_stored(given: object) -> object:
    if isinstance(given, (bytes, bytearray)):
        given = bytes(given).decode(errors="replace")
    if isinstance(given, Mapping) or (isinstance(given, str) and given.lstrip().startswith("{")):
        return Decision.from_json(given)
    return given
