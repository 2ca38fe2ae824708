"""References from a part back to its owner, which do not keep the owner alive.

A broker freezes objects that survive a long garbage collection (`tidelog.server.garbage`). Reference counts
alone free them then, so an object in a cycle would stay in memory for ever: each deleted partition would.
"""

import weakref
from typing import TypeVar, cast

OwnerT = TypeVar("OwnerT")


def weak(owner: OwnerT) -> OwnerT:
    """Returns a proxy that the owner's parts use in its place. It has no hash, so it is never a key."""
    return cast(OwnerT, weakref.proxy(owner))
