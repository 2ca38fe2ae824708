"""Sets of small numbers as the bits of a Python int: number `n` is in the set if bit `n` is 1.

A union or a difference costs one loop in C, and a number costs a bit. `DeliveryCounts` puts a small count
beside each number: bit `k` of every count is in `planes[k]`, so that many counts grow by one at once.
"""

from typing import TypeAlias

BitSet: TypeAlias = int

_FEW_RUNS = 4


def span(first: int, last: int) -> BitSet:
    """Returns the numbers from `first` to `last`, both inclusive."""
    return (2 << last) - (1 << first)


def lowest(bits: BitSet) -> int:
    """Returns the smallest number of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def ones_from(bits: BitSet, at: int) -> int:
    """Returns how many numbers from `at` on follow each other in the set."""
    rest = bits >> at
    return (~rest & (rest + 1)).bit_length() - 1


def smallest(bits: BitSet, count: int) -> BitSet:
    """Returns the `count` smallest numbers of the set, or all if there are fewer."""
    if bits.bit_count() <= count:
        return bits
    low, high = 0, bits.bit_length()  # the answer is the bits below a border, which lies in [low, high]
    while low < high:
        middle = (low + high) // 2
        if (bits & ((1 << middle) - 1)).bit_count() < count:
            low = middle + 1
        else:
            high = middle
    return bits & ((1 << low) - 1)


def runs(bits: BitSet) -> list[tuple[int, int]]:
    """Returns the first and the last number of each run of neighbours, ascending."""
    if not bits:
        return []
    first = lowest(bits)
    length = ones_from(bits, first)
    if first + length == bits.bit_length():
        return [(first, first + length - 1)]
    edges = bits ^ (bits << 1)  # 1 where a run begins, and behind its end
    if edges.bit_count() <= 2 * _FEW_RUNS:
        borders = []
        while edges:
            low = edges & -edges
            borders.append(low.bit_length() - 1)
            edges ^= low
    else:  # one pass over text is faster than many over a large int
        text = f"{edges:b}"[::-1]
        borders = [at for at, bit in enumerate(text) if bit == "1"]
    return [(begin, end - 1) for begin, end in zip(borders[::2], borders[1::2], strict=True)]


class DeliveryCounts:
    """A count for each number. A number without a count has 0."""

    __slots__ = ("planes",)

    def __init__(self) -> None:
        self.planes: list[BitSet] = []

    def add_one(self, bits: BitSet) -> None:
        """Adds 1 to the count of each of these numbers."""
        planes = self.planes
        carry = bits
        for at, plane in enumerate(planes):
            planes[at] = plane ^ carry
            carry &= plane
            if not carry:
                return
        planes.append(carry)

    def put(self, bits: BitSet, count: int) -> None:
        """Sets the count of each of these numbers."""
        planes = self.planes
        while count >> len(planes):
            planes.append(0)
        for at, plane in enumerate(planes):
            planes[at] = plane | bits if count >> at & 1 else plane & ~bits

    def groups(self, bits: BitSet) -> list[tuple[int, BitSet]]:
        """Splits a set that is not empty by its numbers' counts: pairs of a count and the numbers that have
        it."""
        split = [(0, bits)]
        for at, plane in enumerate(self.planes):
            both = bits & plane
            if not both:
                continue
            if both == bits:
                split = [(count | 1 << at, part) for count, part in split]
                continue
            halves = []
            for count, part in split:
                upper = part & plane
                if upper:
                    halves.append((count | 1 << at, upper))
                if upper != part:
                    halves.append((count, part ^ upper))
            split = halves
        return split

    def runs(self, bits: BitSet) -> list[tuple[int, int, int]]:
        """Returns first, last and count of each run of neighbours with the same count, ascending."""
        if not bits:
            return []
        split = [(first, last, count) for count, part in self.groups(bits) for first, last in runs(part)]
        split.sort()
        return split

    def of(self, number: int) -> int:
        return sum((plane >> number & 1) << at for at, plane in enumerate(self.planes))
