"""A child in which a CPU stands in for a GPU, one for the kernel tests of a test process."""

from collections.abc import Iterator

import pytest

from tests.kernels.in_emulation import Emulation


@pytest.fixture(scope="session")
def emulation() -> Iterator[Emulation]:
    child = Emulation()
    yield child
    child.close()
