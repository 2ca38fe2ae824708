"""Memory that was freed goes back to the system.

glibc takes large blocks from the system and returns them, but with each one that is freed it raises the size
from which it does so: the next block comes from its heap, where a few small blocks in between pin all of it.
After an hour of large frames a broker would stay as large as it was at its worst moment. A fixed threshold
prevents that; buffers that are needed again and again are kept in pools (`buffer_pool`).
"""

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

LARGE_BLOCK_BYTES = 256 * 1024
HEAP_TOP_KEPT_BYTES = 16 * 1024 * 1024
"""Bytes that may stay free at the end of the heap: to return and take them again costs more than it saves."""


def give_back_large_blocks() -> bool:
    """Applies to the whole process from now on. Returns False if the allocator is not glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    kept = mallopt(_M_TRIM_THRESHOLD, HEAP_TOP_KEPT_BYTES)
    return bool(kept and mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES))
