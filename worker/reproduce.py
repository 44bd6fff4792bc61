"""The request body that repeats one case of a job with the same operands."""

import json

from contract.submission import Mode, Submission
from kernels.problem import ConstantOperands

GROUPS_SHOWN = 64
"""A case of more groups is not written out: the body would be longer than the verdict."""


def request_body(submission: Submission, index: int, seed: int) -> str | None:
    """Return the JSON for `POST /v1/jobs`; a source has to be added where there is one."""
    case = submission.cases[index]
    if len(case.m) > GROUPS_SHOWN:
        return None
    wanted: dict[str, object] = {"m": case.m, "n": case.n, "k": case.k, "seed": f"{seed:032x}"}
    if case.l != 1:
        wanted["l"] = case.l
    if isinstance(case.distribution, ConstantOperands):
        names = ("a_code", "b_code", "a_scale", "b_scale")
        wanted["distribution"] = {name: getattr(case.distribution, name) for name in names}
    elif case.distribution != "official":
        wanted["distribution"] = case.distribution
    if case.poison_padding:
        wanted["poison_padding"] = True
    # A ranked job takes no cases, and where one fails there is nothing to profile.
    mode = {Mode.RANKED: Mode.BENCHMARK, Mode.PROFILE: Mode.TEST}.get(
        submission.mode, submission.mode
    )
    body: dict[str, object] = {"problem": submission.problem, "mode": mode}
    if submission.source is None and submission.kernel is not None:
        body["kernel"] = submission.kernel
    return json.dumps({**body, "cases": [wanted]})
