"""Memory that was freed goes back to the system.

glibc takes large blocks straight from the system and gives them back, but learns from each that is freed to
take the next of that size from its heap instead, where a few small blocks in between keep all of it. After an
hour of large frames a broker would stay as large as it was at its worst moment. A fixed border prevents that;
what is needed again and again is kept in pools (`buffer_pool`).
"""

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

LARGE_BLOCK_BYTES = 256 * 1024
HEAP_TOP_KEPT_BYTES = 16 * 1024 * 1024
"""So much may stay free at the end of the heap: giving it back to take it again costs more than it saves."""


def give_back_large_blocks() -> bool:
    """From now on, for the whole process. False where the allocator is not glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    kept = mallopt(_M_TRIM_THRESHOLD, HEAP_TOP_KEPT_BYTES)
    return bool(kept and mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES))
