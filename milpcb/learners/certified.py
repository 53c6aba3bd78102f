"""Certainty about a play, from a ledger of its rounds: certificates, bounds, and the best policy so far."""

import numpy as np

from milpcb.blocks import Changes
from milpcb.core.checks import check_confidence, whole
from milpcb.errors import InputError, OracleInexact
from milpcb.ledger import Certificate, Ledger, Minimiser
from milpcb.protocols.oracles import ValueOracle
from milpcb.types import Floats, FoundPolicy


class Certified:
    """Has a ``ledger`` of its rounds, and mostly an ``oracle`` that names the policies it is compared with."""

    oracle: ValueOracle | None = None
    ledger: Ledger

    def guarantee(self) -> float:
        """Return the bound on expected regret that holds for this configuration; infinite when there is none."""
        return np.inf

    def oracle_error(self) -> float:
        """Return what inexact oracle answers may have cost so far, to be added to the guarantee; 0 with exact ones."""
        return 0.0

    def bound(self, confidence: float | None = None) -> float:
        """Return a bound on mean regret so far that the algorithm's analysis gives of this run, NaN where it has none.

        With a ``confidence`` it is at least ``certificate(confidence=confidence)``, and holds as that does.
        """
        del confidence
        return np.nan

    def certificate(
        self, oracle: Minimiser | None = None, *, confidence: float | None = None, changes: int | None = None
    ) -> float:
        """Return the universal certificate of the rounds so far: a random number whose mean bounds mean regret.

        It holds for any learner, for costs that do not react to the play, after a number of rounds that was fixed
        before looking; inexact answers in the play need no allowance. With a ``confidence`` such as 0.95 it is about
        this very run: the chance that regret ever exceeds it, after any of all rounds, is at most 1 - confidence; costs
        may react to all rounds before their own, and be learnt late: regret over all rounds played is then at most the
        certificate plus 1 for each whose cost is not known yet. With ``changes`` it is against the best sequence of
        policies that changes that often at most: see ``changes``.

        ``oracle`` names the policies to compare with, opened on the contexts of the play; None takes the learner's own.
        It is asked for one minimum, with a confidence one for each stake of milpcb.bets. Raises InputError where there
        is none, and with a confidence where the number of policies is not known beforehand.
        """
        sure = None if confidence is None else check_confidence(confidence)
        if changes is not None:
            most = whole("changes", changes, 0) + 1
            return self.ledger.cost - self.ledger.in_turn(self._compared(oracle), most, sure)[-1].total
        return self.certify(oracle).value if sure is None else self.ledger.confident(self._compared(oracle), sure)

    def changes(self, oracle: Minimiser | None = None, *, confidence: float | None = None, most: int = 9) -> Changes:
        """Return certificates against the best sequence of policies with 0, 1, ..., ``most`` changes; print it.

        Policies change at the ends of blocks of rounds: 20 of equal length where the learner has a horizon; else of 100
        rounds, later of a tenth of all rounds before. With a ``confidence`` all certificates hold at once, and likewise
        the proof of a change, where there is one (statements 20 to 22 of milpcb/theory/changes.md). It takes n (n + 1)
        / 2 minima of n blocks, and with a confidence twice as many for each stake. Raises what ``certificate`` raises.
        """
        sure = None if confidence is None else check_confidence(confidence)
        return self.ledger.changes(self._compared(oracle), whole("most", most, 0) + 1, sure)

    def certificate_error(self, oracle: Minimiser | None = None) -> float:
        """Return the standard error of ``certificate()``, by one minimisation; NaN where it finds no policy."""
        return self.certify(oracle).error

    def certify(self, oracle: Minimiser | None = None) -> Certificate:
        """Return ``certificate()``, ``certificate_error()`` and ``policy()`` by one minimisation."""
        return self.ledger.certify(self._compared(oracle))

    def judged(self, oracle: Minimiser) -> Floats:
        """Return the sums of estimates (m, K) by which ``policy()`` is the best: mostly those over all rounds."""
        return self.ledger.totals(oracle.n_contexts, oracle.n_actions)

    def policy(self, oracle: Minimiser | None = None) -> FoundPolicy:
        """Return the policy of least total estimate; raises as ``certificate``, OracleInexact if none is found."""
        best = self.certify(oracle).policy
        if best is None:
            raise OracleInexact("the oracle found no policy in its time; give it more")
        return best

    def _compared(self, oracle: Minimiser | None) -> Minimiser:
        asked = self.oracle if oracle is None else oracle
        if asked is None:
            raise InputError(
                f"{type(self).__name__} asks no oracle, so nothing names the policies that it is compared with; "
                "hand one in that is opened on the contexts of the play, as in certificate(oracle)"
            )
        return asked
