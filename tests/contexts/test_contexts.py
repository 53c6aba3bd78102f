"""The law of imagined futures, by chi-square, and exactly of signs; contexts of an unknown law."""

from __future__ import annotations

from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from milpcb import Empirical, FinitePool, Transductive, open_oracle
from milpcb.contexts import kernels
from milpcb.contexts.draws import MOST_SPREAD, Multinomial, coordinate_sums, rademacher_sums
from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from policies import FiniteClass
from tests.contexts.laws import has_law

GOLDEN_COUNTS = [179, 204, 192, 218, 207]
GOLDEN_SUMS = [[3, -6, 1], [0, 3, 0]]
Law = dict[tuple[int, ...], float]


def by_definition(shown: list[dict[int, float]], rate: float, m: int) -> Law:
    """Return the law of the counts, one future round after the other: a context is drawn, kept with ``rate``."""
    law: Law = {(0,) * m: 1.0}
    for contexts in shown:
        step: Law = {}
        for counts, p in law.items():
            step[counts] = step.get(counts, 0.0) + p * (1 - rate)
            for j, weight in contexts.items():
                more = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                step[more] = step.get(more, 0.0) + p * rate * weight
        law = step
    return law


ORDER = [0, 2, 2, 0, 1]
POOL = np.arange(3.0)[:, None]
MODELS: dict[str, tuple[ContextModel, list[dict[int, float]]]] = {
    "a pool": (FinitePool(POOL, weights=[4, 1, 3]), [{0: 0.5, 1: 0.125, 2: 0.375}] * 4),
    "an order": (Transductive(POOL, ORDER), [{j: 1.0} for j in ORDER[1:]]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("t", [0, 2, 4])
def test_futures_have_the_paper_s_law(name: str, t: int) -> None:
    """A context and a Z for every future round; in a known order each later round is kept with the rate."""
    model, shown = MODELS[name]
    rng = np.random.default_rng(t)
    drawn = Counter(tuple(model.future(t, 5, 0.375, rng).tolist()) for _ in range(10_000))
    assert has_law(drawn, by_definition(shown[t:], 0.375, 3))


def test_transductive_may_be_asked_in_any_order() -> None:
    """Going back to an earlier round gives the counts of that round."""
    model = Transductive(np.arange(3.0)[:, None], [0, 1, 2, 1])
    counts = [model.future(t, 4, 1.0, np.random.default_rng(0)).tolist() for t in (3, 0, 2, 1)]
    assert counts == [[0, 0, 0], [0, 2, 1], [0, 1, 0], [0, 1, 1]]


def test_signs_have_the_law_of_sums_of_signs_exactly() -> None:
    """Over every pattern of the bits that are read, the sums are those of independent fair signs."""
    counts, K = np.array([2, 0, 1]), 2
    signs = list(product((-1, 1), repeat=int(counts.sum()) * K))
    # Sign order: action by action, context by context, as many as its count.
    expected = Counter((s[0] + s[1], s[3] + s[4], 0, 0, s[2], s[5]) for s in signs)
    seen: Counter[tuple[int, ...]] = Counter()
    for a0, a1, c0, c1 in product(range(4), range(4), range(2), range(2)):
        junk = 0xDEADBEEF << 16  # bits beyond the count must not matter
        raw = np.array([a0 | junk, junk, c0 | junk, a1 | junk, junk, c1 | junk], np.uint64)
        rng = SimpleNamespace(bit_generator=SimpleNamespace(random_raw=lambda n, raw=raw: raw[:n].copy()))
        sums = rademacher_sums(counts, K, rng)  # type: ignore[arg-type]
        seen[tuple(sums.ravel().tolist())] += 1
    assert seen == expected


@pytest.mark.parametrize("count", [63, 65, 200])
def test_sums_of_signs_by_chi_square(count: int) -> None:
    """Large counts follow 2 Binomial(n, 1/2) - n, also across the borders of words."""
    rng, counts = np.random.default_rng(count), np.array([count, 3, count])
    sums = np.concatenate([rademacher_sums(counts, 3, rng)[::2].ravel() for _ in range(4000)])
    assert has_law(Counter(((sums + count) // 2).tolist()), dict(enumerate(binom.pmf(range(count + 1), count, 0.5))))


def test_many_signs_have_the_same_law() -> None:
    """Beyond a thousand signs a binomial draw takes over: same parity, mean 0, variance n, independent cells."""
    rng, counts = np.random.default_rng(5), np.array([3000, 40])
    draws = np.array([rademacher_sums(counts, 2, rng) for _ in range(4000)])
    assert draws.shape == (4000, 2, 2)
    assert ((draws - counts[:, None]) % 2 == 0).all()
    ones = (draws + counts[:, None]) // 2
    for j, count in enumerate(counts):
        law = dict(enumerate(binom.pmf(range(count + 1), count, 0.5)))
        assert has_law(Counter(ones[:, j, :].ravel().tolist()), law)
    assert np.abs(np.corrcoef(draws.reshape(4000, 4).T) - np.eye(4)).max() < 0.08


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (64, 0.5), (70, 0.128), (5000, 0.01)])
def test_binomial_draws_by_chi_square(n: int, p: float) -> None:
    """Also where p has no short binary expansion, and across the borders of words."""
    state = np.random.default_rng(n).bit_generator.random_raw(1)
    drawn = Counter(kernels.binomial(n, p, state) for _ in range(10_000))
    assert has_law(drawn, dict(enumerate(binom.pmf(range(n + 1), n, p))))


def test_very_many_rounds_have_the_same_law() -> None:
    """Where numpy takes over, mean and variance of the counts stay what they were."""
    share, rng = np.array([0.2, 0.5, 0.3]), np.random.default_rng(3)
    for n in (MOST_SPREAD, MOST_SPREAD + 1):
        drawn = np.array([Multinomial(share).draw(n, rng) for _ in range(1000)])
        assert (drawn.sum(axis=1) == n).all()
        assert drawn.mean(axis=0) == pytest.approx(n * share, rel=1e-3)
        assert drawn.var(axis=0) == pytest.approx(n * share * (1 - share), rel=0.2)


@pytest.mark.parametrize("K", [2, 3])
def test_coordinate_sums_by_chi_square(K: int) -> None:
    """Two rounds of a context fall on any two actions, each with a sign of its own; other contexts are independent."""
    rng, one = np.random.default_rng(K), np.eye(K, dtype=int)
    steps = [sign * one[a] for a in range(K) for sign in (1, -1)]
    law = Counter(tuple(x + y) for x in steps for y in steps)
    draws = [coordinate_sums(np.array([2, 0, 1]), K, rng) for _ in range(5000)]
    drawn = Counter(tuple(draw[0].tolist()) for draw in draws)
    assert has_law(drawn, {outcome: ways / len(steps) ** 2 for outcome, ways in law.items()})
    assert all((draw[1] == 0).all() and np.abs(draw[2]).sum() == 1 for draw in draws)
    assert abs(np.corrcoef([(draw[0, 0], draw[2, 0]) for draw in draws], rowvar=False)[0, 1]) < 0.08


def test_the_same_words_give_the_same_draws() -> None:
    """Draws are made of integers and exact halvings: these are the same on every machine."""
    rng = np.random.default_rng(0)
    assert Multinomial(np.full(5, 0.2)).draw(1000, rng).tolist() == GOLDEN_COUNTS
    assert coordinate_sums(np.array([100, 7]), 3, rng).tolist() == GOLDEN_SUMS


# --------------------------------------------------------------------------- an unknown law

CONTEXTS = np.arange(4.0)[:, None]


def shown(rows: list[int]) -> Empirical:
    """Return a model that has seen ``rows``, one a round."""
    model = Empirical(CONTEXTS)
    for row in rows:
        model.observe(0, row)
    return model


@pytest.mark.parametrize(
    ("rows", "sample"),
    [([3], []), ([3, 1], [3]), ([3, 1, 1, 0, 0, 0, 2], [3, 1, 1]), ([3, 1, 1, 0, 0, 0, 2, 0], [3, 1, 1, 0, 0, 0, 2])],
)
def test_the_future_is_drawn_from_the_rounds_before_the_epoch(rows: list[int], sample: list[int]) -> None:
    """The counts are multinomial: each later round is kept with the rate, on a context of rounds 1 to 2^e - 1."""
    model, left, rate = shown(rows), 3, 0.4
    rng = np.random.default_rng(len(rows))
    draws = Counter(tuple(model.future(len(rows) - 1, len(rows) + left, rate, rng).tolist()) for _ in range(3000))
    if not sample:
        assert set(draws) == {(0, 0, 0, 0)}
        return
    share = np.bincount(sample, minlength=4) / len(sample)
    law = multinomial(left, [*(rate * share), 1 - rate])
    chances = {
        counts: law.pmf([*counts, left - sum(counts)]) for counts in np.ndindex(4, 4, 4, 4) if sum(counts) <= left
    }
    assert has_law(draws, chances)


def test_one_learner_one_model() -> None:
    """A second learner's oracle is refused in one line; the same oracle may come back."""
    model = Empirical(CONTEXTS)
    mine, other = (open_oracle(FiniteClass([[0, 0, 1, 1]], 2), CONTEXTS, kind="enumeration") for _ in range(2))
    for _ in range(2):
        model.attach(mine, 10)
    with pytest.raises(InputError, match="one for each learner"):
        model.attach(other, 10)
