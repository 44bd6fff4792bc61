"""What is asked: group shapes, operand distribution and seed of one grouped GEMM.

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
    """One grouped GEMM: one entry of `m`, `n` and `k` a group.

    `seed` fixes the operands (a random one is drawn where it is None). `poison_padding` fills the
    row padding of the blocked scales with NaN (0x7F): an honest kernel never depends on it.
    """

    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    seed: int | None = None
    distribution: Distribution = "official"
    poison_padding: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no legal grouped GEMM.

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
        if self.seed is not None and not 0 <= self.seed < 1 << SEED_BITS:
            raise ValueError(f"seed must be in 0..2^{SEED_BITS} - 1")
        if isinstance(self.distribution, ConstantOperands):
            self.distribution.check_groups(len(self.m))

    @property
    def groups(self) -> tuple[GroupShape, ...]:
        """The groups in order."""
        return tuple(map(GroupShape, self.m, self.n, self.k))

    @property
    def operand_bytes(self) -> int:
        """Bytes of all tensors a candidate is handed: operands, both scale layouts, outputs."""
        total = 0
        for m, n, k in self.groups:
            for rows in (m, n):
                blocked = -(-rows // 128) * -(-k // 64) * 512
                total += rows * k // 2 + rows * k // BLOCK_ELEMENTS + blocked
            total += m * n * 2
        return total

    @property
    def flops(self) -> int:
        """Multiplications and additions of all groups."""
        return sum(2 * m * n * k for m, n, k in self.groups)


@dataclass(frozen=True, slots=True)
class Problem:
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
