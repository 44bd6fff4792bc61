"""What is asked: sizes, operand distribution and seed of a case, and what a problem is.

Standard library only, so that the service can speak of problems without loading torch.
`m`, `n` and `k` are always logical elements: a packed row of `k` elements is `k / 2` bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

BLOCK_ELEMENTS = 16
"""Elements along k that share one block scale."""
SEED_BITS = 128
MAX_CODE = 15
MAX_SCALE_BYTE = 127


class GroupShape(NamedTuple):
    """One GEMM of a group: `C[m, n] = A[m, k] @ B[n, k].T`."""

    m: int
    n: int
    k: int


PerGroup = int | tuple[int, ...]
"""One value for all groups, or one a group."""


@dataclass(frozen=True, slots=True)
class ConstantOperands:
    """Every element of an operand is one E2M1 code, every block scale one E4M3 byte."""

    a_code: PerGroup
    b_code: PerGroup
    a_scale: PerGroup
    b_scale: PerGroup

    def __post_init__(self) -> None:
        """Refuse values outside the formats.

        Raises:
            ValueError: a code is not in 0..15 or a scale byte not in 0..127.

        """
        for name, limit in (
            ("a_code", MAX_CODE),
            ("b_code", MAX_CODE),
            ("a_scale", MAX_SCALE_BYTE),
            ("b_scale", MAX_SCALE_BYTE),
        ):
            value = getattr(self, name)
            for item in value if isinstance(value, tuple) else (value,):
                if not 0 <= item <= limit:
                    raise ValueError(f"{name} must be in 0..{limit}, got {item}")

    def of_group(self, group: int) -> tuple[int, int, int, int]:
        """Return `(a_code, b_code, a_scale, b_scale)` of one group."""

        def pick(value: PerGroup) -> int:
            return value[group] if isinstance(value, tuple) else value

        return pick(self.a_code), pick(self.b_code), pick(self.a_scale), pick(self.b_scale)

    def check_groups(self, groups: int) -> None:
        """Refuse lists that do not have one value a group.

        Raises:
            ValueError: naming the field.

        """
        for name in ("a_code", "b_code", "a_scale", "b_scale"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != groups:
                raise ValueError(
                    f"distribution.{name} must be one integer or one a group ({groups}), "
                    f"got {len(value)}"
                )


NamedDistribution = Literal["official", "full_range"]
Distribution = NamedDistribution | ConstantOperands


@dataclass(frozen=True, slots=True)
class Case:
    """One call's worth: one entry of `m`, `n` and `k` a group, each as often as `l` says.

    `seed` fixes the operands (a random one is drawn where it is None). `poison_padding` fills the
    row padding of the blocked scales with NaN (0x7F): an honest kernel never depends on it.
    """

    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    seed: int | None = None
    distribution: Distribution = "official"
    poison_padding: bool = False
    l: int = 1  # noqa: E741  (the name that everybody gives it)
    """The batch: equal GEMMs side by side. 1 where the problem has groups."""

    def __post_init__(self) -> None:
        """Refuse what is legal for no problem.

        Raises:
            ValueError: naming the field, the index and the rule.

        """
        if not self.m:
            raise ValueError("m, n and k must have at least one entry, one a group")
        if not len(self.m) == len(self.n) == len(self.k):
            raise ValueError(
                "m, n and k must have equally many entries, one a group: "
                f"got {len(self.m)}, {len(self.n)} and {len(self.k)}"
            )
        for group, (m, n, k) in enumerate(self.groups):
            if m < 0:
                raise ValueError(f"m[{group}] must be 0 or more, got {m}")
            if n < 1:
                raise ValueError(f"n[{group}] must be 1 or more, got {n}")
            if k < 1 or k % BLOCK_ELEMENTS:
                raise ValueError(
                    f"k[{group}] must be a positive multiple of {BLOCK_ELEMENTS}, got {k}"
                )
        if self.l < 1:
            raise ValueError(f"l must be 1 or more, got {self.l}")
        if self.seed is not None and not 0 <= self.seed < 1 << SEED_BITS:
            raise ValueError(f"seed must be in 0..2^{SEED_BITS} - 1")
        if isinstance(self.distribution, ConstantOperands):
            self.distribution.check_groups(len(self.m))

    @property
    def groups(self) -> tuple[GroupShape, ...]:
        """The groups in order."""
        return tuple(map(GroupShape, self.m, self.n, self.k))


@dataclass(frozen=True, slots=True)
class Official:
    """Which operands the competition draws for a problem."""

    code_mask: int
    """Bits that are kept of a byte, which is two codes."""
    scales: tuple[int, ...]
    """E4M3 bytes, each as likely as the others."""
    exact: bool
    """Whether every partial sum is exact in float32, so that the answer is unique."""


class Work(NamedTuple):
    """What a case costs at least."""

    flops: int
    """Multiplications and additions."""
    moved_bytes: int
    """Each operand and output once over the memory bus: one scale layout, no padding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFacts:
    """A problem as data: what the service lists and what it runs when no cases are given."""

    name: str
    title: str
    equation: str
    description: str
    tests: tuple[Case, ...]
    benchmarks: tuple[Case, ...]
    kernels: tuple[str, ...]
    """Names of the built-in kernels that can be asked for."""
    tensors: Mapping[str, str] = field(default_factory=dict)
    """What a candidate receives, by name: dtype, shape and memory order."""


VECTOR_ROWS = 128
"""Rows of B in memory where it is a vector: a tile of scales, of which the first row counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(ProblemFacts):
    """A problem, and what its judging depends on. Everything else is the same for all."""

    modules: Mapping[str, str]
    """The module of each built-in kernel, the fastest first. The last one runs everywhere."""
    adapter: str | None = None
    """Module whose `adapted` turns those kernels into kernels of this problem; None: they are."""
    official: Official
    right: tuple[str, ...] = ("b",)
    """Names of the operands that A is multiplied with, one product each."""
    epilogue: str | None = None
    """Module whose `combine` makes an output of the products; None: an output is its product."""
    grouped: bool = False
    """Lists with an entry a group, and linear scales in host memory; else tensors with a batch."""
    vector: bool = False
    """n is 1, and B is padded to `VECTOR_ROWS` rows."""
    largest_sum: float = 65504.0
    """Where full-range operands shall keep most sums, so that most outputs are finite."""

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of all operands, A first."""
        return ("a", *self.right)

    def rows(self, shape: GroupShape) -> tuple[int, ...]:
        """Return the rows that each operand has in memory."""
        right = VECTOR_ROWS if self.vector else shape.n
        return (shape.m, *(right for _ in self.right))

    def check(self, case: Case) -> None:
        """Refuse a case that is none of this problem.

        Raises:
            ValueError: naming the field and the rule.

        """
        if self.grouped and case.l != 1:
            raise ValueError(f"l must be 1: {self.name} has groups and no batch, got {case.l}")
        if not self.grouped and len(case.m) != 1:
            raise ValueError(
                f"m must have one entry: {self.name} has no groups, got {len(case.m)}; "
                "l is the batch"
            )
        if self.vector and case.n != (1,):
            raise ValueError(f"n[0] must be 1: B of {self.name} is a vector, got {case.n[0]}")

    def operand_bytes(self, case: Case) -> int:
        """Return the bytes of all tensors that a candidate is handed."""
        total = 0
        for shape in case.groups:
            for rows in self.rows(shape):
                blocked = -(-rows // 128) * -(-shape.k // 64) * 512
                total += rows * shape.k // 2 + rows * shape.k // BLOCK_ELEMENTS + blocked
            total += shape.m * shape.n * 2
        return total * case.l

    def work(self, case: Case) -> Work:
        """Return what a case costs at least; an empty group costs nothing."""
        flops = moved_bytes = 0
        for m, n, k in case.groups:
            if m:
                right = n * len(self.right)
                flops += 2 * m * right * k
                moved_bytes += (m + right) * (k // 2 + k // BLOCK_ELEMENTS) + m * n * 2
        return Work(flops * case.l, moved_bytes * case.l)
