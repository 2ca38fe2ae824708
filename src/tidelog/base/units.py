"""Sizes and durations as people write them: `1 GiB`, `7d`, `1h 30m`, `500ms`.

Only files, flags and the environment may use these forms; the Kafka protocol carries plain numbers.
"""

import re

BYTES = {
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
    "tib": 1024**4,
}
MILLISECONDS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
}

_PART = re.compile(r"\s*([0-9]+)(?:\.([0-9]{1,9}))?\s*([a-zA-Z]+)\s*")


def parse_bytes(text: str) -> int:
    """`64 KiB`, `1.5GiB` or `10 MB` as a number of bytes."""
    match = _PART.fullmatch(text)
    if match is None:
        raise ValueError("expected a size such as 65536, 64 KiB or 1 GiB")
    return _scaled(match, BYTES, "KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB (of 1000)")


def parse_milliseconds(text: str) -> int:
    """`500ms`, `7d` or `1h 30m` as milliseconds."""
    total, position = 0, 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            break
        total += _scaled(match, MILLISECONDS, "ms, s, m, h, d or w")
        position = match.end()
    if position == 0 or position < len(text):
        raise ValueError("expected a duration such as 500ms, 30s, 1h 30m or 7d")
    return total


def _scaled(match: re.Match[str], factors: dict[str, int], known: str) -> int:
    whole, fraction, unit = match.groups()
    factor = factors.get(unit.lower())
    if factor is None:
        raise ValueError(f"{unit!r} is not a unit; use {known}")
    if fraction is None:
        return int(whole) * factor
    # Whole numbers all the way: a float would round a large size.
    scaled, rest = divmod(int(whole + fraction) * factor, int("1" + "0" * len(fraction)))
    if rest:
        raise ValueError(f"{match.group().strip()} is not a whole number of the smallest unit")
    return scaled


def show_bytes(count: int) -> str:
    """The largest binary unit that divides the size: 1073741824 is `1 GiB`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        factor = BYTES[unit.lower()]
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} B"


def size_text(count: int) -> str:
    """Bytes in the unit a person would choose: 512 B, 1.5 KiB, 20 MiB."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f}".removesuffix(".0") + f" {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def show_milliseconds(count: int) -> str:
    """The largest unit that divides the duration: 604800000 is `7d`."""
    for unit in ("d", "h", "m", "s"):
        if count >= MILLISECONDS[unit] and count % MILLISECONDS[unit] == 0:
            return f"{count // MILLISECONDS[unit]}{unit}"
    return f"{count}ms"
