"""What waits for the garbage collector: objects that refer to each other outlive what made them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_left_of(kind: type) -> Iterator[None]:
    """Fails if an object of this kind that is made here is not freed by its reference count."""
    gc.collect()
    gc.disable()
    try:
        yield
        assert not [one for one in gc.get_objects() if type(one) is kind]
    finally:
        gc.enable()
