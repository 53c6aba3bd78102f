"""Where policies read it; see milpcb.constraints.linear."""

from milpcb.constraints.linear import *  # noqa: F403
