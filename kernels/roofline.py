"""How fast a case can be at best on a device. Standard library only.

Two rates a device, for two uses. The *measured* rates are what a large cuBLAS matrix product and a
large copy reach on a real device; they give the speed of light that is reported. The *datasheet*
rates are the vendor's; nothing is faster, so they give the floor below which no time is believed.

H200 has no FP4 tensor core. Its FP8 cannot hold a code times a block scale (six significant bits),
so elements are decoded to float16 and the float16 rate counts. B200 multiplies FP4 directly.

B200 was never measured here: both of its pairs are the vendor's, and the speed of light it gives is
therefore optimistic.
"""

from dataclasses import dataclass

from kernels.problem import Work

_US_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Rates:
    """What a device can do a second."""

    flops_per_s: float
    """Multiplications and additions of the fastest tensor core path that is exact."""
    bytes_per_s: float
    """To and from device memory."""


@dataclass(frozen=True, slots=True)
class Device:
    """The rates of a device that these problems run on."""

    datasheet: Rates
    """Dense, without sparsity."""
    measured: Rates | None
    """Null where no such device was available."""

    @property
    def attainable(self) -> Rates:
        """The measured rates, or the datasheet's where there are none."""
        return self.measured or self.datasheet


DEVICES = (
    ("H200", Device(datasheet=Rates(989e12, 4.8e12), measured=Rates(790e12, 4.3e12))),
    ("B200", Device(datasheet=Rates(9e15, 8e12), measured=None)),
)
"""By a word of the name that the driver gives the device."""


def find_device(name: str) -> Device | None:
    """Return the rates of the device of this name, `NVIDIA H200` or `H200`; None if unknown."""
    words = name.upper().split()
    return next((device for word, device in DEVICES if word in words), None)


def speed_of_light_us(work: Work, device: str) -> float | None:
    """Return the time of a perfect kernel at the attainable rates; None for an unknown device."""
    found = find_device(device)
    return None if found is None else _time_us(work, found.attainable)


def floor_us(work: Work, device: str) -> float | None:
    """Return the time that physics allows by the datasheet; None for an unknown device."""
    found = find_device(device)
    return None if found is None else _time_us(work, found.datasheet)


def _time_us(work: Work, rates: Rates) -> float:
    return _US_PER_S * max(work.flops / rates.flops_per_s, work.moved_bytes / rates.bytes_per_s)
