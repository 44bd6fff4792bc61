"""Problems, cases and distributions as the service speaks of them: the ground's own types."""

from kernels.problem import Case, Distribution, Problem, ProblemFacts
from kernels.problems import PROBLEMS

__all__ = ["PROBLEMS", "Case", "Distribution", "Problem", "ProblemFacts"]
