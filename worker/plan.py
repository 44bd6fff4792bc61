"""What a mode asks of a job: which cases are timed, how often, and what nobody is told of."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from contract.submission import Mode, Submission, problem_named
from kernels.problem import Case, Problem
from worker.sampling import Sample, spread
from worker.seeds import derive

SETTLED: Final = 0.02
"""A spread p10..p90 below this share of the median needs no more samples."""
HIDDEN_CASES: Final = 4
MOST_GROUPS: Final = 8
MOST_ROWS: Final = 384
N_STEP: Final = 128
K_STEP: Final = 256
MOST_STEPS: Final = 8
"""Of n and k. Their steps are those of the official cases; m of a group may be anything."""
M_STEP: Final = 128
"""Where there are no groups."""
MOST_BATCH: Final = 4
"""Of vectors."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many timed calls a case has: `least`, and as many again until they settle or are `most`.

    A number that is fixed beforehand leaves nothing to who would give up unlucky runs.
    """

    least: int
    most: int

    def enough(self, samples: Sequence[Sample]) -> bool:
        """Whether more samples would not tell more."""
        if len(samples) < self.least or len(samples) % self.least:
            return False
        settled = spread([sample.event_us for sample in samples]) < SETTLED
        return len(samples) >= self.most or settled


ADAPTIVE: Final = Sampling(20, 60)
FIXED: Final = Sampling(50, 50)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done with the cases of a submission, in their order."""

    first_timed: int
    """From this case on they are timed and scored; as many as there are cases: none is."""
    sampling: Sampling = ADAPTIVE
    hidden: tuple[Case, ...] = ()
    """Run before the first timed case, with seeds of their own."""
    gated: bool = False
    """Whether nothing is timed any more after a failure."""


def plan_of(submission: Submission, hidden_seed: int) -> Plan:
    """Return the plan of a job; hidden cases follow from a seed that is never told."""
    match submission.mode:
        case Mode.BENCHMARK:
            return Plan(first_timed=0)
        case Mode.RANKED:
            problem = problem_named(submission.problem)
            hidden = hidden_cases(problem, hidden_seed)
            return Plan(len(problem.tests), FIXED, hidden, gated=True)
        case _:
            return Plan(first_timed=len(submission.cases))


def hidden_cases(problem: Problem, seed: int) -> tuple[Case, ...]:
    """Draw cases on full-range operands, of sizes like the official ones."""
    draw = random.Random(derive(seed, "sizes"))  # noqa: S311  (of 128 secret bits)
    seeds = [derive(seed, number) for number in range(HIDDEN_CASES)]
    if problem.grouped:
        return tuple(_hidden_groups(draw, each) for each in seeds)
    return tuple(_hidden_batch(problem, draw, each) for each in seeds)


def _hidden_batch(problem: Problem, draw: random.Random, seed: int) -> Case:
    return Case(
        m=(M_STEP * draw.randint(1, MOST_STEPS),),
        n=(1 if problem.vector else N_STEP * draw.randint(1, MOST_STEPS),),
        k=(K_STEP * draw.randint(1, MOST_STEPS),),
        l=draw.randint(1, MOST_BATCH) if problem.vector else 1,
        seed=seed,
        distribution="full_range",
    )


def _hidden_groups(draw: random.Random, seed: int) -> Case:
    groups = range(draw.randint(2, MOST_GROUPS))
    return Case(
        m=tuple(draw.randint(1, MOST_ROWS) for _ in groups),
        n=tuple(N_STEP * draw.randint(1, MOST_STEPS) for _ in groups),
        k=tuple(K_STEP * draw.randint(1, MOST_STEPS) for _ in groups),
        seed=seed,
        distribution="full_range",
    )
