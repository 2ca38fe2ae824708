"""Which code finds the fields of records: numpy, which is always there, or its compiled twin."""

from collections.abc import Collection
from functools import cache
from importlib.util import find_spec
from typing import Final, Protocol

from tidelog.spark import fields
from tidelog.spark.bodies import Group
from tidelog.spark.fields import Fields

AUTO: Final = "auto"
NUMPY: Final = "numpy"
NUMBA: Final = "numba"
ENGINES: Final = (AUTO, NUMPY, NUMBA)


class Engine(Protocol):
    def find(self, group: Group, columns: Collection[str]) -> Fields: ...


class _Numpy:
    find = staticmethod(fields.find)


@cache
def engine_named(name: str = AUTO) -> Engine:
    """`auto` is numba where it is installed. Asking for numba where it is not is an error that says so."""
    if name not in ENGINES:
        raise ValueError(f"{name!r} does not decode records; {', '.join(ENGINES)} do")
    if name == NUMPY or (name == AUTO and find_spec("numba") is None):
        return _Numpy()
    try:
        from tidelog.spark import decode_numba
    except ImportError as error:
        if name == AUTO:  # installed, but not for this machine
            return _Numpy()
        raise ValueError(f"numba cannot be imported ({error}): pip install 'tidelog[numba]'") from error
    return decode_numba
