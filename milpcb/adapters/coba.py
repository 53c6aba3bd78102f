"""A learner for the experiments of the package coba: ours beside Vowpal Wabbit, in coba's own processes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from milpcb.bandit import Bandit, Decision
from milpcb.errors import InputError, shown
from milpcb.protocols import PolicyClass


class CobaLearner:
    """A registered learner with the methods that coba's ``Experiment`` calls: ``predict``, ``learn`` and ``params``.

    Contexts need not be known: each is added when it first comes, flattened to numbers. Every round must offer the same
    actions in one order. Batches are played one by one and learnt late, which learners must allow, as exp4 does.

    Parameters
    ----------
    policies : the policy class, with explicit cut points; its ``n_actions`` is the number that coba offers
    learner : a registered learner; ``options`` are its own
    seed : of all random draws
    reward_range : least and greatest reward; one beyond them is refused
    horizon : number of rounds, for learners that need to know it
    oracle : kind of the oracle, or its options, as for Bandit

    """

    def __init__(
        self,
        policies: PolicyClass,
        learner: str = "exp4",
        *,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: int | None = None,
        oracle: str | Mapping[str, Any] = "search",
        **options: Any,
    ) -> None:
        settings: dict[str, Any] = {"seed": seed, "reward_range": reward_range, "horizon": horizon, "oracle": oracle}
        self._policies, self._name = policies, learner
        self._make = partial(Bandit, policies, learner, **settings, **options)
        self._make()  # mistakes show here, and not in coba's log
        self._offered: list[Any] = []
        self._open: list[tuple[list[float], Any, Decision]] = []  # what was played and is not learnt, oldest first
        self._learns = False  # whether the last call was ``learn``

    @property
    def params(self) -> dict[str, Any]:
        """Entry of coba's table of learners."""
        return {"family": f"milpcb {self._name}", "policies": str(self._policies), **self._make.keywords}

    @cached_property
    def bandit(self) -> Bandit:
        """The bandit at play, made at first use: coba pickles learners before that, and plays copies."""
        return self._make()

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float]:
        """Return the action drawn, one of ``actions``, and its probability."""
        offered, n = list(actions), self._policies.n_actions
        if len(offered) != n or offered != (self._offered or offered):
            raise InputError(
                "policies know actions by their numbers, so "
                f"every round must offer the same {n} in one order, got {shown(offered)}"
            )
        shown_as, names = numbers(context), getattr(self._policies, "action_names", None) or ()
        decision = self.bandit.act(shown_as)
        self._offered = offered
        played = decision.action
        action = actions[list(names).index(played) if isinstance(played, str) else played]
        if self._learns:  # a new round or batch: what coba did not let learn of the last one it never will
            self._open.clear()
        self._learns = False
        self._open.append((shown_as, action, decision))
        return action, decision.probability

    def learn(self, context: Any, action: Any, reward: Any, probability: float) -> None:
        """Take in the reward of an action that ``predict`` returned for this context."""
        del probability
        self._learns = True
        played = [(known, done) for known, done, _ in self._open]
        if (asked := (numbers(context), action)) not in played:
            raise InputError(
                "learn must follow predict in the same round: this learner learns from its own actions only"
            )
        self.bandit.learn(self._open[played.index(asked)][-1], reward=reward)
        del self._open[played.index(asked)]


def numbers(context: Any) -> list[float]:
    """Return a context as a flat list of numbers; one of none at all is a 0."""
    return [0.0] if context is None else list(_flat(context))


def _flat(context: Any) -> Iterator[float]:
    if hasattr(context, "as_onehot"):  # a category, which is a string too
        yield from map(float, context.as_onehot)
    elif isinstance(context, (int, float)):
        yield float(context)
    elif isinstance(context, (str, Mapping)) or not isinstance(context, Iterable):
        raise InputError(f"contexts must be numbers, categories or lists of them, got {shown(context)}; encode them")
    else:
        for part in context:
            yield from _flat(part)
