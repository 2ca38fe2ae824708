"""Large receive buffers, used again.

Fresh megabytes are dear: the kernel zeroes and maps each page (400 us a MiB measured, more than
receiving into it). The pool takes back only buffers without a view, so a dispatcher may keep a view of
a frame for as long as it wants.
"""

POOLED_BYTES = 64 * 1024  # smaller ones come cheap from the allocator
BUFFER_BYTES_MAX = 4 * 1024 * 1024


class BufferPool:
    def __init__(self, kept_bytes_max: int) -> None:
        self._free: dict[int, list[bytearray]] = {}
        self._kept_bytes_max = kept_bytes_max
        self._used = False
        self.kept_bytes = 0

    def take(self, size: int) -> bytearray:
        """Returns a buffer of at least `size` bytes (at most a quarter more), with arbitrary content."""
        self._used = True
        rounded = round_up(size)
        free = self._free.get(rounded)
        if free:
            self.kept_bytes -= rounded
            return free.pop()
        return bytearray(rounded)

    def give(self, buffer: object) -> None:
        """Offer a buffer back; it is dropped if views of it are alive or enough are kept."""
        if not isinstance(buffer, bytearray):
            return
        size = len(buffer)
        if size > BUFFER_BYTES_MAX or size + self.kept_bytes > self._kept_bytes_max:
            return
        try:
            buffer.pop()  # a buffer with a view on it refuses to change its size
        except BufferError:
            return
        buffer.append(0)
        if round_up(size) == size:
            self._free.setdefault(size, []).append(buffer)
            self.kept_bytes += size

    def keep(self, bytes_max: int) -> None:
        """Keep no more than this from now on; 0 gives everything back."""
        self._kept_bytes_max = bytes_max
        if self.kept_bytes > bytes_max:
            self._free.clear()
            self.kept_bytes = 0

    def tick(self) -> None:
        """Drop all buffers after a tick without use: an idle broker holds none."""
        if not self._used:
            self._free.clear()
            self.kept_bytes = 0
        self._used = False


def round_up(size: int) -> int:
    """Round to four sizes per doubling, so that frames of nearly the same size share buffers."""
    step = 1 << max(12, size.bit_length() - 3)
    return -(-size // step) * step
