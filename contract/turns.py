"""How two candidates compare, as the service speaks of it: the ground's own types."""

from kernels.turns import LEAST_EFFECT, Ratio

__all__ = ["LEAST_EFFECT", "Ratio"]
