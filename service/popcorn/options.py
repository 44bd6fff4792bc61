"""What the client asks of a profiler beside a file: which benchmark, and which kernels of it."""

from collections.abc import Mapping

from contract.errors import InvalidSubmission
from contract.problem import Problem
from service.job_request import JobRequest

CAPTURED = ("ncu_kernel_name", "ncu_kernel_name_base", "ncu_launch_count")


def narrowed(asked: JobRequest, problem: Problem, texts: Mapping[str, str]) -> JobRequest:
    """Return the request, on one benchmark where the texts of a form name one.

    Raises:
        InvalidSubmission: there is no such benchmark, or a choice of kernels is asked for.

    """
    for field in CAPTURED:
        if field in texts:
            option = "--" + field.replace("_", "-")
            raise InvalidSubmission(field, f"every kernel is profiled here; leave {option} out")
    place = texts.get("benchmark_index")
    if place is None:
        return asked
    known = {str(index): case for index, case in enumerate(problem.benchmarks)}
    if place not in known:
        raise InvalidSubmission("benchmark_index", f"must be 0 to {len(known) - 1}, got {place!r}")
    return asked.model_copy(update={"cases": (known[place],)})
