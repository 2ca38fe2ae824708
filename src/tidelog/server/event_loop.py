"""Which event loop serves the connections: uvloop where it is installed, unless a setting says otherwise."""

import asyncio
from collections.abc import Callable
from importlib.util import find_spec

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def loop_factory(choice: str) -> LoopFactory:
    """Returns a loop for the value of the setting `event.loop`: auto, asyncio or uvloop."""
    if choice == "asyncio" or (choice == "auto" and find_spec("uvloop") is None):
        return asyncio.new_event_loop
    import uvloop

    factory: LoopFactory = uvloop.new_event_loop
    return factory
