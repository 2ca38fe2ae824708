"""Produce requests as an idempotent producer sends them, beside the same without its numbers."""

import socket
import struct
import time

from crc32c import crc32c

from benches.rig.frames import batch_of, call, produce_frame, records_in
from benches.rig.load import connect
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import ATTRIBUTES_AT, CRC_AT
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest

NUMBERS = struct.Struct(">qhi")
NUMBERS_AT = 43  # producer id, epoch and first sequence in the header of a batch


def produce_frames(
    address: tuple[str, int], topic: str, count: int, size: int, *, numbered: bool
) -> list[bytes]:
    plain = batch_of(size)
    if not numbered:
        # Each in memory of its own, as the numbered ones are: to send the same bytes again is cheaper.
        return [produce_frame(topic, plain, acks=-1) for _ in range(count)]
    answer = call(address, ApiKey.INIT_PRODUCER_ID, 4, InitProducerIdRequest(transaction_timeout_ms=60_000))
    if answer.error_code:
        raise RuntimeError(f"InitProducerId answered error {answer.error_code}")
    batch, records, frames = bytearray(plain), records_in(plain), []
    for number in range(count):
        NUMBERS.pack_into(batch, NUMBERS_AT, answer.producer_id, answer.producer_epoch, number * records)
        struct.pack_into(">I", batch, CRC_AT, crc32c(memoryview(batch)[ATTRIBUTES_AT:]))
        frames.append(produce_frame(topic, bytes(batch), acks=-1))
    return frames


def send_all(address: tuple[str, int], frames: list[bytes], *, in_flight: int) -> float:
    """Seconds from the first request to the last answer, over one connection."""
    with connect(address) as sock:
        began = time.perf_counter()
        for number, request in enumerate(frames):
            sock.sendall(request)
            if number >= in_flight - 1:
                _take_answer(sock)
        for _ in range(min(in_flight - 1, len(frames))):
            _take_answer(sock)
        return time.perf_counter() - began


def _take_answer(sock: socket.socket) -> None:
    (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
    sock.recv(size, socket.MSG_WAITALL)
