"""The base of every generated message and nested struct.

Messages hold values, never each other in a circle, so the garbage collector need not track them:
that makes them smaller, and a Fetch of a thousand partitions does not set off a collection.
"""

from typing import TypeAlias

import msgspec

from tidelog.base.ports import Buffer, FileSlice

Part: TypeAlias = Buffer | FileSlice
"""A piece of an encoded message: bytes to send, or a range of a file to send from the page cache."""


class Message(msgspec.Struct, gc=False):
    pass
