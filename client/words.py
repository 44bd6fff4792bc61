"""Words of the service that are worth completing. It decides itself which ones it knows."""

from collections.abc import Callable

MODES = ("test", "benchmark", "ranked", "profile", "compile")
STATES = ("queued", "running", "finished", "failed", "cancelled")
PROBLEMS = ("nvfp4_group_gemm", "nvfp4_gemm", "nvfp4_dual_gemm", "nvfp4_gemv")
KERNELS = ("auto", "portable", "dot_scaled", "hopper")
TARGETS = ("sm_90a", "sm_100a", "sm_103a", "sm_120a")


def beginning(*words: str) -> Callable[[str], list[str]]:
    """Return what a shell asks for the words that begin with what is typed."""

    def matching(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return matching
