"""Bodies are read within limits, alone and together."""

import asyncio

import pytest

from tidelog.server.registry.bodies import Bodies, Gone, TooLong, TooMany


def receiving(*pieces, leaves=False):
    events = [
        {"type": "http.request", "body": piece, "more_body": leaves or number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]
    if leaves:
        events.append({"type": "http.disconnect"})
    left = iter(events)

    async def receive():
        return next(left)

    receive.left = left
    return receive


async def read(bodies, receive):
    async with bodies.read(receive) as body:
        assert bodies.held_bytes >= len(body)
        return body


def test_a_body_in_pieces():
    bodies = Bodies(10)
    assert asyncio.run(read(bodies, receiving(b"abc", b"", b"defg"))) == b"abcdefg"
    assert bodies.held_bytes == 0


def test_a_body_that_is_too_long_is_read_to_its_end_and_not_held():
    bodies = Bodies(10)
    receive = receiving(*[b"x" * 8] * 100)
    with pytest.raises(TooLong):
        asyncio.run(read(bodies, receive))
    assert list(receive.left) == []
    assert bodies.held_bytes == 0


def test_bodies_together_have_a_limit():
    bodies = Bodies(10, together_bytes_max=12)

    async def both():
        async with bodies.read(receiving(b"x" * 10)):
            with pytest.raises(TooMany):
                await read(bodies, receiving(b"y" * 3))
            assert await read(bodies, receiving(b"z")) == b"z"

    asyncio.run(both())
    assert bodies.held_bytes == 0


def test_a_client_that_leaves():
    bodies = Bodies(10)
    with pytest.raises(Gone):
        asyncio.run(read(bodies, receiving(b"abc", leaves=True)))
    assert bodies.held_bytes == 0
