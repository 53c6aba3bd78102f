"""What each replaceable part promises. Adding one is a file that keeps a promise here, and a line in the registry.

The pattern is the same everywhere: a *settings* object (a policy class, a solver, an environment) says what is wanted
and is cheap; opening it on data (contexts, a program, a seed) gives the *working* object that is then asked many times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

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
    """A policy class on fixed contexts: a polytope that never changes, and the cost map into objectives.

    ``program`` is the polytope; ``group`` (m,) sends each context row to its class of contexts that no policy tells
    apart, numbered 0..g-1, and ``contexts`` (g, d) holds one representative of each class. A ``separator`` finds the
    rows that ``program`` leaves out because they are too many.
    """

    program: Program
    group: Ints
    contexts: Floats
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

    ``group`` and ``contexts`` are as in Encoding. Costs are (g, K), ``row`` a number of a distinct context. A class that does
    not factorise says so, and has no ``log_weights``.
    """

    factorises: ClassVar[bool] = True
    n_actions: int
    group: Ints
    contexts: Floats

    @abstractmethod
    def value(self, costs: Floats) -> float:
        """Return the least total cost, in the semiring (min, +)."""

    @abstractmethod
    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it; the lowest-numbered choice wins a tie."""

    @abstractmethod
    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a] (K,): the least total cost of the policies that play a on ``row``, inf where none does."""

    @abstractmethod
    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the sum of exp(-rate * total cost) over the derivations that play a on ``row``.

        The semiring is (log-sum-exp, +). A policy that can be written in several ways counts as often; at rate 0
        this is the logarithm of a count.
        """

    def log_count(self) -> float:
        """Return the natural log of the number of derivations, the N of Exp4's guarantee."""
        nothing = np.zeros((len(self.contexts), self.n_actions))
        return float(np.logaddexp.reduce(self.log_weights(nothing, 0, 0.0)))


class PolicyClass(ABC):
    """A set of policies. Constructor arguments are the keys of the ``[policies]`` section of a config."""

    n_actions: int

    @abstractmethod
    def formulate(self, contexts: Floats, *, constrained: bool = False) -> Encoding:
        """Return the encoding on ``contexts`` (m, d); ``constrained`` asks for a cost map usable as a row."""

    def search(self, contexts: Floats) -> Search:
        """Return the class's own exact search on ``contexts`` (m, d); raises InputError when it has none."""
        del contexts
        raise InputError(f"{type(self).__name__} has no search of its own; use oracle kind 'milp'")

    @abstractmethod
    def policies(self, contexts: Floats) -> Iterator[Policy]:
        """List every policy by its definition, independently of the encoding (repeats allowed)."""

    @abstractmethod
    def draw(self, contexts: Floats, rng: np.random.Generator) -> Policy:
        """Return a random policy of the class (the class says by which law)."""

    @abstractmethod
    def log_size(self, contexts: Floats) -> float:
        """Return the natural log of the number of policies, exactly or as an upper bound (the class says which)."""

    def fixed(self, contexts: Floats) -> PolicyClass:
        """Return the class as it is on ``contexts``, to be kept while more contexts arrive (quantile cuts settled)."""
        del contexts
        raise InputError(f"{type(self).__name__} cannot take contexts that arrive later; open it on all of them")

    def patterns(self, contexts: Floats) -> Any:
        """Return an array (n, k) whose equal rows are contexts that no policy of a fixed class tells apart."""
        return contexts

    def labelings(self, contexts: Floats) -> Ints:
        """Return the distinct labelings (N, m) of ``contexts``, in the order in which the policies are listed."""
        distinct = {labels.tobytes(): labels for labels in (p.predict(contexts) for p in self.policies(contexts))}
        return np.array(list(distinct.values()), dtype=np.int64)


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
