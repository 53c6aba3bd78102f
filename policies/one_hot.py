"""A list as a program: one column a policy, of which exactly one is 1; the least entry of a list, for a solver."""

from abc import abstractmethod

from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Policy
from milpcb.types import Floats


class OneHotEncoding(Encoding):
    """The simplex over a list of ``n_policies``, whose vertices are 0/1. ``objective`` is the total of each policy."""

    def __init__(self, n_policies: int) -> None:
        b = ProgramBuilder()
        b.rows((b.columns("x", (n_policies,), upper=1.0, integer=True)[None], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def decode(self, x: Floats, costs: Floats) -> Policy:
        del costs  # the number names it
        return self.policy(int(x.argmax()))

    @abstractmethod
    def policy(self, number: int) -> Policy:
        """Return the policy of a column."""
