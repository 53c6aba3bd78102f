"""What each replaceable part promises. Adding one is a file that keeps a promise here, and a line in the registry.

The pattern is the same everywhere: a *settings* object (a policy class, a solver, an environment) says what is wanted
and is cheap; opening it on data (contexts, a program, a seed) gives the *working* object that is then asked many times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from milpcb.checks import context_array
from milpcb.errors import InputError
from milpcb.program import Program
from milpcb.types import Answer, Floats, Ints, Solution
from milpcb.types import Policy as Policy  # noqa: PLC0414 - a promise too, kept where answers need it

# --------------------------------------------------------------------------- policies


@dataclass(frozen=True)
class Objective:
    """The linear objective ``coefficients @ x + offset`` that a cost matrix becomes."""

    coefficients: Floats
    offset: float = 0.0


@dataclass(frozen=True)
class Cuts:
    """Rows ``lower <= matrix @ x <= upper`` that every policy keeps; ``point`` (n_columns,) is some policy's."""

    matrix: Floats
    lower: Floats
    upper: Floats
    point: Floats


class Separator(Protocol):
    """Finds the rows of a polytope that has too many to list; all of them hold whatever the objective is."""

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return rows that ``x`` breaks, and the point of a policy that is good for ``objective``.

        A whole ``x`` gets no row only if it is the point of a policy; another may, when none is found.
        """
        ...


class Encoding(ABC):
    """A policy class on fixed contexts as a program: a polytope that never changes, and the cost map into objectives.

    ``program`` is the polytope. A ``separator`` finds the rows that ``program`` leaves out because they are too many.
    Costs are (g, K), a row for each distinct context of the Opened that made the encoding.
    """

    program: Program
    separator: Separator | None = None

    @abstractmethod
    def objective(self, costs: Floats) -> Objective:
        """Return the objective whose minimum over the polytope is the least total cost; ``costs`` is (g, K).

        In a *constrained* encoding the map is linear in ``costs`` and exact at every point of the polytope, so
        ``objective(weights) <= b`` is the side constraint ``sum_j weights[j, pi(x_j)] <= b``.
        """

    @abstractmethod
    def decode(self, x: Floats, costs: Floats) -> Policy:
        """Return the policy that the vertex ``x`` of the polytope stands for, at the ``costs`` it was optimal for."""


class Search(ABC):
    """A policy class's own exact search on fixed contexts: one recursion, read in several semirings.

    Costs are (g, K), a row for each distinct context of the Opened that made the search; ``row`` is the number of one.
    """

    @abstractmethod
    def value(self, costs: Floats) -> float:
        """Return the least total cost, in the semiring (min, +)."""

    @abstractmethod
    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it; the lowest-numbered choice wins a tie."""

    @abstractmethod
    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a] (K,): the least total cost of the policies that play a on ``row``, inf where none does."""

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the sum of exp(-rate * total cost) over the derivations that play a on ``row``.

        The semiring is (log-sum-exp, +). A policy that can be written in several ways counts as often; at rate 0
        this is the logarithm of a count. Asked only where the Opened can do "action_weights".
        """
        raise NotImplementedError(f"{type(self).__name__} declares 'action_weights' and does not give them")


class Opened(ABC):
    """A policy class on fixed contexts: its geometry, computed once, from which programs and searches are made.

    Attributes
    ----------
    n_actions : K
    group : (m,) sends each row of the given contexts to its class of contexts that no policy tells apart, 0..g-1
    contexts : (g, d) one representative of each such class
    log_size : natural log of the number of policies, exactly or as an upper bound (each class says which)
    can : what may be asked for: "program", "search", "action_weights" (of that search), "policies" (a list of all), and
        "fixed" (the class may be kept while more contexts arrive)
    cannot : for what is not in ``can``, the reason in words, where there is more to say than that it is not there

    """

    n_actions: int
    group: Ints
    contexts: Floats
    log_size: float
    can: frozenset[str] = frozenset({"program", "policies"})
    cannot: Mapping[str, str] = MappingProxyType({})

    def require(self, capability: str) -> None:
        """Raise InputError, with the reason, unless ``capability`` is in ``can``."""
        if capability not in self.can:
            raise InputError(self.cannot.get(capability, f"{type(self).__name__} has no {_ASKED_FOR[capability]}"))

    @abstractmethod
    def program(self, *, constrained: bool = False) -> Encoding:
        """Return the encoding; ``constrained`` asks for a cost map usable as a row."""

    def search(self) -> Search:
        """Return the class's own exact search."""
        raise NotImplementedError(f"{type(self).__name__} declares 'search' and does not give it")

    @abstractmethod
    def policies(self) -> Iterator[Policy]:
        """List every policy by its definition, independently of program and search (repeats allowed)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Policy:
        """Return a random policy of the class (the class says by which law)."""

    def labelings(self) -> Ints:
        """Return the distinct labelings (N, m) of the given contexts, in the order in which the policies are listed."""
        labels = (np.asarray(policy.predict(self.contexts), dtype=np.int64) for policy in self.policies())
        distinct = {labeling.tobytes(): labeling for labeling in labels}
        return np.array(list(distinct.values()), dtype=np.int64)[:, self.group]

    def fixed(self) -> PolicyClass:
        """Return the class as it is on these contexts, to be kept while more arrive (quantile cuts become explicit)."""
        raise NotImplementedError(f"{type(self).__name__} declares 'fixed' and does not give it")


_ASKED_FOR = {
    "program": "program; use oracle kind 'search'",
    "search": "search of its own; use oracle kind 'milp'",
    "action_weights": "action weights: its policies do not factorise; use an oracle that lists them, kind 'enumeration'",
    "policies": "list of its policies; use oracle kind 'milp' or 'search'",
    "fixed": "way to take contexts that arrive later; open it on all of them",
}


class PolicyClass(ABC):
    """A set of policies, as settings. Constructor arguments are the keys of the ``[policies]`` section of a config."""

    n_actions: int

    def on(self, contexts: Any) -> Opened:
        """Return the class on ``contexts`` (m, d), an array or a data frame; raises InputError on a table it cannot read."""
        return _Wrapped(self, context_array(contexts))

    def read(self, contexts: Any) -> Floats:
        """Return the columns of ``contexts`` that ``on`` reads, as a read-only array (m, d); raises InputError."""
        return context_array(contexts)

    def log_size(self, contexts: Any) -> float:
        """Return the natural log of the number of policies on ``contexts``; see Opened.log_size."""
        return float(self.on(contexts).log_size)

    def patterns(self, contexts: Floats) -> Any:
        """Return an array (n, k) whose equal rows are contexts that no policy of a fixed class tells apart."""
        return contexts


class _Wrapped(Opened):
    """A class of the older protocol, whose every method takes the contexts anew."""

    def __init__(self, policies: Any, contexts: Floats) -> None:
        self._policies, self._given = policies, contexts
        self.n_actions = policies.n_actions
        encoding = policies.formulate(contexts)
        self.group, self.contexts = encoding.group, encoding.contexts
        self.log_size = policies.log_size(contexts)
        try:
            search = policies.search(contexts)
            self.can = self.can | {"search"} | ({"action_weights"} if getattr(search, "factorises", True) else set())
        except (InputError, AttributeError) as error:
            self.cannot = {"search": str(error)}
        if hasattr(policies, "fixed"):
            self.can = self.can | {"fixed"}

    def program(self, *, constrained: bool = False) -> Encoding:
        return self._policies.formulate(self._given, constrained=constrained)  # type: ignore[no-any-return]

    def search(self) -> Search:
        return self._policies.search(self._given)  # type: ignore[no-any-return]

    def policies(self) -> Iterator[Policy]:
        return self._policies.policies(self._given)  # type: ignore[no-any-return]

    def draw(self, rng: np.random.Generator) -> Policy:
        return self._policies.draw(self._given, rng)  # type: ignore[no-any-return]

    def fixed(self) -> PolicyClass:
        return self._policies.fixed(self._given)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------- solvers


@dataclass(frozen=True)
class SolverInfo:
    """One line of ``milpcb solvers``: ``missing`` says why the solver cannot run here and how to mend that."""

    name: str
    version: str
    can: str
    missing: str = ""


class Session(Protocol):
    """A solver opened once on a program, then asked for many objectives."""

    def solve(
        self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None, primal: bool = True
    ) -> Solution:
        """Minimise ``objective`` (n_columns,) to an absolute gap; ``primal=False`` says that x is not needed."""
        ...

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add dense rows (r, n_columns) for all later queries."""
        ...

    def close(self) -> None:
        """Free what the solver holds; closing twice is harmless."""
        ...


class Solver(Protocol):
    """A way to solve programs. ``Solver(argument)`` gets what follows the colon in ``solver = "name:argument"``."""

    def __init__(self, argument: str = "") -> None: ...

    def open(self, program: Program, *, relax: bool = False) -> Session:
        """Return a session on ``program``; ``relax`` drops integrality. Raises SolverMissingError."""
        ...

    @classmethod
    def describe(cls) -> list[SolverInfo]:
        """Say what can run here, and why the rest cannot."""
        ...


# --------------------------------------------------------------------------- learners and what they see


class ValueOracle(Protocol):
    """All that an oracle-based learner sees of a policy class (see milpcb.oracles.base for the meaning of each).

    ``can`` says which of the questions below it answers; "enumerate" stands for the list ``labelings`` (N, m).
    """

    n_contexts: int
    n_actions: int
    log_size: float
    can: frozenset[str]

    @property
    def contexts(self) -> Floats:
        """Return the contexts (n_contexts, d) that rows are numbers of."""
        ...

    def minimise(self, costs: Floats) -> Answer:
        """Return bounds on the least total cost and a policy; ``costs`` is (m, K)."""
        ...

    def value(self, costs: Floats) -> float:
        """Return the proved least total cost; ``costs`` is (m, K)."""
        ...

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a] (K,), the least total cost of the policies that play a on ``row``."""
        ...

    def action_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (K,) at ``row``."""
        ...


class Learner(ABC):
    """Plays actions. Keyword arguments of the constructor are the keys of a ``[[learners]]`` section of a config.

    ``full_information`` learners are shown all costs of a round; the guarantee of a ``stochastic`` one is for i.i.d. costs.
    The runtime itself supplies ``oracle``, ``pool``, ``horizon``, ``seed``, ``n_actions`` and ``best`` (the labels (m,) of
    the best policy in hindsight) to constructors that name them.
    """

    full_information: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False
    n_actions: int

    @abstractmethod
    def act(self, row: int) -> Floats:
        """Return the probability (K,) of each action on the context ``row`` of the pool."""

    @abstractmethod
    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Take in the cost in [0, 1] of the action played, with the probability it was played with."""

    def learn_all(self, row: int, costs: Floats) -> None:
        """Take in all K costs; only learners that declare ``full_information`` are ever shown them."""
        del row, costs
        raise InputError(f"{type(self).__name__} learns from the played action only")

    def guarantee(self) -> float:
        """Return the bound on expected regret that holds for this configuration; infinite when there is none."""
        return np.inf

    def certificate(self) -> float:
        """Return what approximate oracle answers may have cost so far, to be added to the guarantee; 0 with exact ones."""
        return 0.0

    def estimates(self) -> Floats | None:
        """Return sums (m, K) of estimated costs so far, in units of cost up to a common factor and a common constant.

        The policy of least total is the learner's leader. None for learners that keep no such sums.
        """
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return everything that ``restore`` needs to go on bit-identically, as plain data (JSON-able)."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what ``state`` returned on a learner made with the same arguments."""


class ContextModel(ABC):
    """What a learner knows of future contexts: how many hallucinated rounds fall on each context.

    ``known`` says that the future is drawn from the true law, as guarantees assume.
    """

    known: ClassVar[bool] = True

    @abstractmethod
    def attach(self, oracle: Any) -> None:
        """Meet the oracle whose rows the counts are of; raises InputError when the two do not fit."""

    def observe(self, row: int) -> None:
        """Hear that the current round shows ``row``, before its future is drawn."""
        del row  # most models know all there is to know

    @abstractmethod
    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts: of the rounds after ``t`` (0-based), each kept with probability ``rate``."""

    def state(self) -> dict[str, Any]:
        """Return what was learnt about contexts so far, as plain data."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        del state


# --------------------------------------------------------------------------- environments


class Stream(Protocol):
    """A running environment: oblivious, readable again from the start, the same bytes for the same seed."""

    contexts: Floats
    order: Ints | None

    def reveal(self, t: int) -> int:
        """Return the row of ``contexts`` that round ``t`` (0-based) shows."""
        ...

    def costs(self, t: int) -> Floats:
        """Return the costs (K,) in [0, 1] of round ``t``."""
        ...


class Environment(Protocol):
    """A process of contexts and costs. Constructor arguments are the keys of ``[environment]`` in a config."""

    @property
    def n_actions(self) -> int:
        """Number of actions K."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of the contexts, or ()."""
        ...

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions, or ()."""
        ...

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> Stream:
        """Return the stream of one seed; ``policies`` is the class that is competed with (and may be planted)."""
        ...
