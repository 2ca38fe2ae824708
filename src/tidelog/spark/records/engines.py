"""Which code finds the fields of records: numpy, which is always there, or its compiled twin."""

from collections.abc import Collection
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Final, Protocol

from tidelog.spark.records import fields
from tidelog.spark.records.bodies import Group
from tidelog.spark.records.fields import Fields

AUTO: Final = "auto"
NUMPY: Final = "numpy"
NUMBA: Final = "numba"
ENGINES: Final = (AUTO, NUMPY, NUMBA)

NUMBA_WORTH_BYTES: Final = 128 << 20


class Engine(Protocol):
    def find(self, group: Group, columns: Collection[str]) -> Fields: ...


class _Numpy:
    find = staticmethod(fields.find)


_PLAIN = _Numpy()


@cache
def engine_named(name: str = AUTO) -> Engine:
    """Asking for numba where it is not installed is an error that says so."""
    if name == NUMPY:
        return _PLAIN
    if name == NUMBA:
        try:
            from tidelog.spark.records import batch_decoding_numba
        except ImportError as error:
            raise ValueError(f"numba cannot be imported ({error}): pip install 'tidelog[numba]'") from error
        return batch_decoding_numba
    if name == AUTO:
        return _Automatic()
    raise ValueError(f"{name!r} does not decode records; {', '.join(ENGINES)} do")


class _Automatic:
    """Numpy for the first bytes of a process, then numba where it is installed.

    Importing numba takes a second, in which numpy decodes three million records: small jobs never pay for it.
    """

    def __init__(self) -> None:
        self._left = NUMBA_WORTH_BYTES if find_spec("numba") is not None else None

    def find(self, group: Group, columns: Collection[str]) -> Fields:
        if self._left is None:
            return self._chosen.find(group, columns)
        self._left -= len(group.data)
        if self._left < 0:
            self._left = None
        return _PLAIN.find(group, columns)

    @cached_property
    def _chosen(self) -> Engine:
        try:
            return engine_named(NUMBA) if find_spec("numba") is not None else _PLAIN
        except ValueError:  # installed, but not for this machine
            return _PLAIN
