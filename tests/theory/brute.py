"""BISTRO+ on two actions by enumerating everything random, from the definitions."""

from fractions import Fraction
from itertools import product
from math import prod

F = Fraction


class Brute:
    """BISTRO+ on two actions from its definition, one outcome of everything random at a time.

    Costs are in units of L.
    """

    def __init__(self, labelings, law, L: int, size: F, rate: F) -> None:
        self.labelings, self.law, self.L = labelings, list(enumerate(law)), L
        signs = [(rate / 4, (size * a, size * b)) for a, b in product((-1, 1), repeat=2)]
        one = [(p * chance, x, xi) for x, p in self.law for chance, xi in [(1 - rate, (F(0), F(0))), *signs]]
        self.one = one

    def totals(self, past, future):
        """Return each policy's total of past estimates (x, i) and of noise."""
        return [
            sum((weight for x, i, weight in past if labels[x] == i), F(0)) + sum(xi[labels[x]] for _, x, xi in future)
            for labels in self.labelings
        ]

    def futures(self, n: int):
        """Return all futures of n rounds with their probabilities."""
        return [(prod((p for p, _, _ in f), start=F(1)), f) for f in product(self.one, repeat=n)]

    def rel(self, past, n: int, price: F) -> F:
        """Return Rel by its definition."""
        return n * price + self.L * sum(p * max(-total for total in self.totals(past, f)) for p, f in self.futures(n))

    def q(self, past, future, x: int):
        """Return q: Phi to the action that all minimisers play, the rest uniform, then exploration."""
        totals = self.totals(past, future)
        best = {
            i: min([t for t, pi in zip(totals, self.labelings, strict=True) if pi[x] == i], default=None)
            for i in (0, 1)
        }
        known = {i: total for i, total in best.items() if total is not None}
        leader = min(known, key=lambda i: known[i])
        Phi = min(F(1), known[1 - leader] - known[leader]) if len(known) == 2 else F(1)
        star = [(1 - Phi) / 2 + Phi * (i == leader) for i in (0, 1)]
        return [(1 - F(2, self.L)) * share + F(1, self.L) for share in star]

    def after(self, past, n: int, x: int, c, estimator: str):
        """Return every (probability, cost, past) that one round can end with."""
        ends = []
        for p, future in self.futures(n):
            for y, q in enumerate(self.q(past, future, x)):
                chance, weight = (
                    (c[y] / (self.L * q), F(1)) if estimator == "bernoulli" else (F(1), c[y] / (self.L * q))
                )
                ends += [(p * q * chance, c[y], (*past, (x, y, weight))), (p * q * (1 - chance), c[y], past)]
        return [end for end in ends if end[0]]

    def condition(self, past, n: int, price: F, estimator: str) -> F:
        """Return the slack of condition (1), with the maximum over the vertices of the cube of costs."""
        worst = F(0)
        for x, p in self.law:
            ends = [self.after(past, n, x, c, estimator) for c in product((0, 1), repeat=2)]
            worst += p * max(
                sum(chance * (cost + self.rel(now, n, price)) for chance, cost, now in end) for end in ends
            )
        return self.rel(past, n + 1, price) - worst

    def regret(self, plan, estimator: str) -> F:
        """Return E[regret] against a plan: costs by round and context."""
        total = F(0)
        for xs in product(range(len(self.law)), repeat=len(plan)):
            costs = [plan[t][x] for t, x in enumerate(xs)]
            paid, laws = F(0), [(F(1), ())]
            for t, x in enumerate(xs):
                n = len(plan) - 1 - t
                ends = [
                    (p * q, c, now) for p, past in laws for q, c, now in self.after(past, n, x, costs[t], estimator)
                ]
                paid += sum(p * c for p, c, _ in ends)
                laws = [(p, now) for p, _, now in ends]
            best = min(sum(costs[t][pi[x]] for t, x in enumerate(xs)) for pi in self.labelings)
            total += prod(self.law[x][1] for x in xs) * (paid - best)
        return total


class SignedBrute(Brute):
    """Signed estimates from their definition: hits of +-L/2, one sign on one action with probability 2/L."""

    def __init__(self, labelings, law, L: int) -> None:
        super().__init__(labelings, law, L, F(0), F(0))
        kept = [(F(2, L) / 4, noise) for s in (F(1, 2), F(-1, 2)) for noise in ((s, F(0)), (F(0), s))]
        self.one = [(p * chance, x, xi) for x, p in self.law for chance, xi in [(1 - F(2, L), (F(0), F(0))), *kept]]

    def q(self, past, future, x: int):
        """Return q from mu = (phi+ + phi-) / 2, each phi by asking every policy."""
        totals = self.totals(past, future)

        def psi(i, step):
            return min(t + step * (pi[x] == i) for t, pi in zip(totals, self.labelings, strict=True))

        mu = [psi(i, F(1, 2)) - psi(i, F(-1, 2)) for i in (0, 1)]
        return [(1 - F(2, self.L)) * share / sum(mu) + F(1, self.L) for share in mu]

    def after(self, past, n: int, x: int, c, estimator: str):
        """Return every (probability, cost less 1/2, past) that one round can end with."""
        ends = []
        for p, future in self.futures(n):
            for y, q in enumerate(self.q(past, future, x)):
                chance, weight = F(1) / (self.L * q), F(2 * c[y] - 1, 2)
                if estimator == "ips":
                    chance, weight = F(1), weight * chance
                cost = c[y] - F(1, 2)
                ends += [(p * q * chance, cost, (*past, (x, y, weight))), (p * q * (1 - chance), cost, past)]
        return [end for end in ends if end[0]]

    def regret(self, plan, estimator: str) -> F:
        """Return E[regret], which does not feel that costs are counted less 1/2."""
        return super().regret(plan, estimator) + F(len(plan), 2)
