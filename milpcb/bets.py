"""Bets against policies: what the estimated costs of one run prove of the policies' true costs, with confidence.

In round s the learner was shown the cost c of its action y and formed e >= 0 so that, for every action a, the mean of
e 1[y = a] given the past is at most the cost of a (milpcb.ledger). Costs may depend on the whole past. Somebody who
bets the share lambda of what he holds that the estimates of policy pi exceed its costs holds, after round t,

    Z_t = prod over s <= t of (1 + lambda (e_s 1[y_s = pi(x_s)] - c_s(pi(x_s)))),    Z_0 = 1,

which is never negative and whose mean never grows, so the chance that it ever reaches z is at most 1 / z (Ville). Where
pi plays another action than y the factor is at least exp(-l c), l = -log(1 - lambda): log(1 - lambda c) is concave in c
and equal to -l c at 0 and 1. So with probability 1 - delta, for all t, all N policies and all G stakes lambda at once,

    sum_s c_s(pi(x_s)) >= sum over s with y_s = pi(x_s) of [c_s + log(1 + lambda (e_s - c_s)) / l]
                          - log(N G / delta) / l.

The sum is over cells (context, action), so the policy for which it is least is one question to an oracle (statement 16
of milpcb/theory/confidence.md; derived for this project).
"""

from __future__ import annotations

from math import log, log1p

# Stakes that every run is prepared for: each is nearly the best one for some length of the run, up to about 1e8 rounds.
STAKES = tuple(0.001 * 2**step for step in range(9))


def loss(stake: float) -> float:
    """Return l = -log(1 - lambda), what a cost of 1 takes off the logarithm of what is held."""
    return -log1p(-stake)


def proved(cost: float, estimate: float, stake: float) -> float:
    """Return c + log(1 + lambda (e - c)) / l: what a round proves of policies that play its action, before the price.

    It is at least 0; where e >= c it is at most e, and falls as the stake grows.
    """
    return cost + log1p(stake * (estimate - cost)) / loss(stake)


def price(stake: float, log_size: float, n_stakes: int, confidence: float) -> float:
    """Return log(N G / delta) / l: what is taken off for the chance delta of being wrong, for N policies, G stakes."""
    return (log_size + log(n_stakes) - log1p(-confidence)) / loss(stake)
