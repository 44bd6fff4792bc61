"""The problems we judge, as data: one module each. Standard library only."""

from collections.abc import Mapping
from types import MappingProxyType

from kernels.problem import Problem
from kernels.problems.nvfp4_dual_gemm import NVFP4_DUAL_GEMM
from kernels.problems.nvfp4_gemm import NVFP4_GEMM
from kernels.problems.nvfp4_gemv import NVFP4_GEMV
from kernels.problems.nvfp4_group_gemm import NVFP4_GROUP_GEMM

__all__ = ["NVFP4_DUAL_GEMM", "NVFP4_GEMM", "NVFP4_GEMV", "NVFP4_GROUP_GEMM", "PROBLEMS"]

PROBLEMS: Mapping[str, Problem] = MappingProxyType(
    {
        problem.name: problem
        for problem in (NVFP4_GROUP_GEMM, NVFP4_GEMM, NVFP4_DUAL_GEMM, NVFP4_GEMV)
    }
)
