"""What devices can do at best, as the service speaks of it: the ground's own types."""

from kernels.roofline import Device, Rates, find_device

__all__ = ["Device", "Rates", "find_device"]
