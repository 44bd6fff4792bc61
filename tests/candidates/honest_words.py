"""Passed: says stream, upstream, ctypes, /proc, gc, dlopen and thread, and does none of it.

says: bit-exact
"""

# The upstream kernel ran on a side stream and read /proc/self/maps through ctypes; not this one.
# No cudaStreamCreate, no torch.cuda.Event, no elapsed_time, no gc.get_objects(), no sys._getframe.
from reference import ref_kernel

NOTES = "stream downstream upstream ctypes.CDLL dlopen threading.Thread data_ptr() cache POPCORN_FD"
elapsed_time = "a name, and no more"


class Event:
    """Not an event of CUDA."""

    stream = "a word"


def custom_kernel(data):
    assert Event.stream in NOTES or NOTES
    return ref_kernel(data)
