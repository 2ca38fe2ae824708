"""Two loads for every queue: drain what is there, and serve jobs as they come, one by one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from benches.versus import generator
from benches.versus.generator import Run
from benches.versus.queues import amqp, share
from benches.versus.queues.amqp import Channel
from benches.versus.queues.quorum import QuorumQueues
from benches.versus.queues.share import Held, Line, Member
from benches.versus.rivals.window import sample
from benches.versus.systems import System
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import iter_batches
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, read_records, write_batch

SIZE = 100
DRAINERS = 4
LOCKS = 2_000
"""The default of `group.share.partition.max.record.locks`."""
BATCH = 250
ACKED_TOGETHER = 250
UNCONFIRMED_MAX = 5_000
TICK_SECONDS = 0.002
SENT_TOGETHER_MAX = 20
"""A worker decodes whole batches, also for a single job of it: a sender that is late must not send larger
ones, or workers become late, too."""
STAMP_BYTES = 8
WARM_UP_SECONDS = 1.0
LATE_SECONDS_MAX = 10


def fill(system: System, topic: str, count: int) -> None:
    if isinstance(system, QuorumQueues):
        asyncio.run(_fill_quorum(system, topic, count))
    else:
        generator.produce(
            system.servers, topic, 1, SIZE, count, settings={"acks": "1", "batch.num.messages": str(BATCH)}
        )


def drain(system: System, topic: str, count: int, prefetch: int) -> Run:
    """A few workers, which acknowledge many jobs together."""
    if isinstance(system, QuorumQueues):
        return asyncio.run(_drain_quorum(system, topic, count, prefetch))
    return asyncio.run(_drain_share(system, topic, count, prefetch))


class Served:
    """The delays of the jobs that came after the warm-up, from the moment each was due to be sent."""

    def __init__(self, seconds: float) -> None:
        self.begin = time.monotonic_ns() + int(WARM_UP_SECONDS * 1e9)
        self.end = self.begin + int(seconds * 1e9)
        self.delays: list[int] = []
        self.sent = self.got = self.in_time = 0

    def job(self, value: bytes) -> None:
        self.got += 1
        sent, now = int.from_bytes(value[:STAMP_BYTES], "big"), time.monotonic_ns()
        if self.begin <= sent < self.end:
            self.delays.append(now - sent)
        self.in_time += self.begin <= now < self.end

    @property
    def rate(self) -> float:
        """Jobs a second that workers got while they were sent: less than were sent, where a queue grew."""
        return self.in_time / ((self.end - self.begin) / 1e9)

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.delays)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6


class Load(NamedTuple):
    rate: int
    seconds: float
    workers: int
    prefetch: int


def serve(system: System, topic: str, load: Load) -> Served:
    if isinstance(system, QuorumQueues):
        return asyncio.run(_serve_quorum(system, topic, load))
    return asyncio.run(_serve_share(system, topic, load))


async def _paced(rate: int, served: Served, send: Callable[[list[bytes]], Awaitable[None]]) -> None:
    """Sends jobs as they become due, those of a tick together, until the time is over."""
    filling = sample(SIZE - STAMP_BYTES)
    step = int(1e9 / rate)
    due = time.monotonic_ns()
    while due < served.end:
        values = []
        now = time.monotonic_ns()
        while due <= now:
            values.append(due.to_bytes(STAMP_BYTES, "big") + filling)
            due += step
        if values:
            await send(values)
            served.sent += len(values)
        await asyncio.sleep(TICK_SECONDS)


async def _until_most_came(served: Served, workers: list["asyncio.Task[None]"]) -> None:
    patience = time.monotonic() + LATE_SECONDS_MAX
    while served.got < served.sent and time.monotonic() < patience:
        for worker in workers:
            if worker.done():
                worker.result()
        await asyncio.sleep(0.01)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


# --- share groups


async def _drain_share(system: System, topic: str, count: int, prefetch: int) -> Run:
    locks = max(LOCKS, DRAINERS * prefetch)
    share.prepare_group(system.address, f"drain-{topic}", share_partition_max_record_locks=locks)
    members = [await Member.join(system.address, f"drain-{topic}", topic) for _ in range(DRAINERS)]
    held = await members[0].fetch(records_max=prefetch)
    while not held:
        held = await members[0].fetch(records_max=prefetch)
    uncounted = got = sum(each.count for each in held)
    began, cpu = time.perf_counter(), time.process_time()

    async def work(member: Member, held: list[Held]) -> None:
        nonlocal got
        while got < count:
            held = await member.fetch(held, records_max=prefetch, wait_ms=50)
            got += sum(each.count for each in held)
        await member.fetch(held, records_max=1, wait_ms=0)

    await asyncio.gather(*(work(each, held if each is members[0] else []) for each in members))
    run = Run(got - uncounted, time.perf_counter() - began, time.process_time() - cpu, {})
    for member in members:
        await member.leave()
    return run


async def _serve_share(system: System, topic: str, load: Load) -> Served:
    address, group = system.address, f"serve-{topic}"
    share.prepare_group(address, group)
    members = await asyncio.gather(*(Member.join(address, group, topic) for _ in range(load.workers)))
    line = await Line.open(address)
    served = Served(load.seconds)

    async def send(values: list[bytes]) -> None:
        for at in range(0, len(values), SENT_TOGETHER_MAX):
            await send_batch(values[at : at + SENT_TOGETHER_MAX])

    async def send_batch(values: list[bytes]) -> None:
        now = time.time_ns() // 1_000_000
        batch = write_batch([Record(at, now, None, value, []) for at, value in enumerate(values)])
        part = PartitionProduceData(index=0, records=bytes(batch))
        request = ProduceRequest(
            acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=[part])]
        )
        await line.ask(ApiKey.PRODUCE, 12, request)

    async def work(member: Member) -> None:
        held: list[Held] = []
        while True:
            held = await member.fetch(held, records_max=load.prefetch, strict=True)
            for each in held:
                for value in _values(each):
                    served.job(value)

    tasks = [asyncio.create_task(work(member)) for member in members]
    await _paced(load.rate, served, send)
    await _until_most_came(served, tasks)
    await line.close()
    return served


def _values(held: Held) -> list[bytes]:
    """Of the acquired records: a fetch brings whole batches."""
    found = []
    records = memoryview(held.records)
    for position, header in iter_batches(records):
        for first, last in held.ranges:
            if first <= header.last_offset and last >= header.base_offset:
                batch = read_records(records[position : position + header.size])
                found += [each.value or b"" for each in batch if first <= each.offset <= last]
    return found


# --- quorum queues


async def _fill_quorum(system: QuorumQueues, queue: str, count: int) -> None:
    channel = await Channel.open(system.amqp_address)
    await channel.confirm()
    message, confirmed, moved = amqp.publish(queue, sample(SIZE)), 0, asyncio.Event()

    def on_confirmed(tag: int, multiple: bool) -> None:
        nonlocal confirmed
        confirmed = max(confirmed, tag) if multiple else confirmed + 1
        moved.set()

    reading = asyncio.create_task(channel.confirms(on_confirmed))
    sent = 0
    while confirmed < count:
        if sent < count and sent - confirmed < UNCONFIRMED_MAX:
            some = min(ACKED_TOGETHER, count - sent)
            channel.writer.write(message * some)
            await channel.writer.drain()
            sent += some
        else:
            moved.clear()
            await asyncio.wait_for(moved.wait(), LATE_SECONDS_MAX)
    await _cancelled(reading)
    await channel.close()


async def _drain_quorum(system: QuorumQueues, queue: str, count: int, prefetch: int) -> Run:
    channels = [await Channel.open(system.amqp_address) for _ in range(DRAINERS)]
    got, began, cpu, finished = 0, 0.0, 0.0, asyncio.Event()

    async def work(channel: Channel) -> None:
        unacked = 0

        def on_message(tag: int, body: bytes) -> None:
            nonlocal got, began, cpu, unacked
            if not got:
                began, cpu = time.perf_counter(), time.process_time()
            got, unacked = got + 1, unacked + 1
            if unacked == ACKED_TOGETHER:
                channel.writer.write(amqp.ack(tag, multiple=True))
                unacked = 0
            if got == count:
                finished.set()

        await channel.deliveries(on_message)

    for channel in channels:
        await channel.consume(queue, prefetch)
    working = [asyncio.create_task(work(channel)) for channel in channels]
    await finished.wait()
    run = Run(got - 1, time.perf_counter() - began, time.process_time() - cpu, {})
    for task in working:
        await _cancelled(task)
    for channel in channels:
        await channel.close()
    return run


async def _serve_quorum(system: QuorumQueues, queue: str, load: Load) -> Served:
    channels = [await Channel.open(system.amqp_address) for _ in range(load.workers)]
    served = Served(load.seconds)

    async def work(channel: Channel) -> None:
        def on_message(tag: int, body: bytes) -> None:
            served.job(body)
            channel.writer.write(amqp.ack(tag))

        await channel.deliveries(on_message)

    for channel in channels:
        await channel.consume(queue, load.prefetch)
    producer = await Channel.open(system.amqp_address)
    await producer.confirm()
    confirms = asyncio.create_task(producer.confirms(lambda tag, multiple: None))

    async def send(values: list[bytes]) -> None:
        producer.writer.write(b"".join(amqp.publish(queue, value) for value in values))
        await producer.writer.drain()

    tasks = [asyncio.create_task(work(channel)) for channel in channels]
    await _paced(load.rate, served, send)
    await _until_most_came(served, tasks)
    await _cancelled(confirms)
    for channel in (producer, *channels):
        await channel.close()
    return served


async def _cancelled(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
