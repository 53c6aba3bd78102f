"""What compiles the functions of policy classes: milpcb.kernels has it, as what is drawn at random is compiled too."""

from milpcb.kernels import compiled

__all__ = ["compiled"]
