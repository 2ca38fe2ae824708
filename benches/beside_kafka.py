"""Real clients (librdkafka) on Tidelog and on Apache Kafka, on the same machine in the same run.

    python benches/beside_kafka.py [--rounds N]

Rounds alternate between the brokers and the best one counts. Apache Kafka does not fsync by default, so the
fair neighbour is durability `os`; `fsync` stands beside it to show what its promise costs. Without Java or
the jars, only Tidelog is measured.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from rig.broker_process import BrokerProcess
from rig.report import machine

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "interop"))

SIZES = {100: 400_000, 1000: 150_000}
LATENCY_RATE = 500
LATENCY_SECONDS = 4
KAFKA_JVM = ("-Xms1g", "-Xmx1g")


@contextmanager
def tidelog(durability: str) -> Iterator[str]:
    with BrokerProcess({"durability": durability}) as broker:
        yield f"localhost:{broker.port}"


@contextmanager
def apache_kafka() -> Iterator[str]:
    from apache_kafka import ApacheKafka  # type: ignore[import-not-found]
    from broker_process import free_port  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory(prefix="kafka-bench-") as folder:
        kafka = ApacheKafka(free_port(), Path(folder), jvm=KAFKA_JVM)
        try:
            yield kafka.bootstrap
        finally:
            kafka.stop()


class Topic:
    """A new topic of one partition; gone at the end."""

    _count = 0

    def __init__(self, servers: str) -> None:
        Topic._count += 1
        self.name = f"bench-{Topic._count}"
        self._admin = AdminClient({"bootstrap.servers": servers})

    def __enter__(self) -> str:
        self._admin.create_topics([NewTopic(self.name, 1, 1)])[self.name].result()
        return self.name

    def __exit__(self, *_: object) -> None:
        self._admin.delete_topics([self.name])[self.name].result()


def produce_all(servers: str, topic: str, size: int, count: int, settings: dict[str, str]) -> float:
    """Messages per second, from the first call to the last acknowledgement."""
    producer = Producer(
        settings
        | {
            "bootstrap.servers": servers,
            "linger.ms": 5,
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 1_000_000,
        }
    )
    producer.list_topics(topic)
    value = (b'{"user": 7919, "event": "click", "page": "/start"} ' * (size // 50 + 1))[:size]
    failed: list[object] = []

    def delivered(error: object, _: Message) -> None:
        if error is not None:
            failed.append(error)

    began = time.perf_counter()
    for number in range(count):
        producer.produce(topic, value, on_delivery=delivered)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()
    seconds = time.perf_counter() - began
    if failed:
        raise RuntimeError(f"{len(failed)} messages were not delivered: {failed[0]}")
    return count / seconds


def consume_all(servers: str, topic: str, count: int) -> float:
    """Messages per second, from the first to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            # By default the client stops fetching for a second whenever its queue is full.
            "queued.min.messages": 1_000_000,
            "queued.max.messages.kbytes": 1_000_000,
            "fetch.queue.backoff.ms": 1,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = len(consumer.consume(1, 30))
    began = time.perf_counter()
    while got < count:
        got += len(consumer.consume(10_000, 0.1))
    seconds = time.perf_counter() - began
    consumer.close()
    return count / seconds


def latencies_ms(servers: str, topic: str, acks: str) -> list[float]:
    """From the call of `produce` to the return of `poll` in a consumer, at a moderate rate, sorted."""
    count = LATENCY_RATE * LATENCY_SECONDS
    seen: list[float] = []
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 500,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])

    def read() -> None:
        while len(seen) < count + 1:
            message = consumer.poll(5)
            if message is not None and message.error() is None:
                seen.append((time.perf_counter_ns() - int(message.value())) / 1e6)

    reader = threading.Thread(target=read)
    reader.start()
    producer = Producer({"bootstrap.servers": servers, "acks": acks, "linger.ms": 0})
    producer.produce(topic, str(time.perf_counter_ns()))  # finds its way once; not counted
    producer.flush()
    began = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, began + number / LATENCY_RATE - time.perf_counter()))
        producer.produce(topic, str(time.perf_counter_ns()))
        producer.poll(0)
    producer.flush()
    reader.join()
    consumer.close()
    return sorted(seen[1:])


def throughput(brokers: dict[str, str], rounds: int) -> None:
    for size, count in SIZES.items():
        for acks in ("1", "all"):
            for codec in ("none", "lz4"):
                settings = {"acks": acks, "compression.type": codec}
                best = dict.fromkeys(brokers, (0.0, 0.0))
                for _ in range(rounds):
                    for name, servers in brokers.items():
                        with Topic(servers) as topic:
                            rate = produce_all(servers, topic, size, count, settings)
                            read = consume_all(servers, topic, count)
                        best[name] = max(best[name][0], rate), max(best[name][1], read)
                row(f"produce {size} B, acks={acks}, {codec}", {n: r / 1000 for n, (r, _) in best.items()})
                row(f"consume {size} B, {codec}", {n: r / 1000 for n, (_, r) in best.items()})


def latency(brokers: dict[str, str]) -> None:
    for acks in ("1", "all"):
        p50, p99 = {}, {}
        for name, servers in brokers.items():
            with Topic(servers) as topic:
                times = latencies_ms(servers, topic, acks)
            p50[name], p99[name] = times[len(times) // 2], times[len(times) * 99 // 100]
        row(f"latency acks={acks}, p50, ms", p50)
        row(f"latency acks={acks}, p99, ms", p99)


def row(what: str, values: dict[str, float]) -> None:
    shown = "".join(f"{value:14.2f}" for value in values.values())
    kafka = values.get("Apache Kafka")
    ratio = f"{values['os'] / kafka:12.2f}" if kafka else ""
    print(f"{what:34}{shown}{ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(machine())
    with ExitStack() as running:
        brokers = {name: running.enter_context(tidelog(name)) for name in ("os", "fsync")}
        try:
            brokers["Apache Kafka"] = running.enter_context(apache_kafka())
        except (ImportError, OSError, RuntimeError) as error:
            print(f"without Apache Kafka: {error}")
        for servers in brokers.values():  # compiled code, open files and filled caches for everybody
            with Topic(servers) as topic:
                produce_all(servers, topic, 100, 300_000, {"acks": "1"})
                consume_all(servers, topic, 300_000)
        head = "".join(f"{name:>14}" for name in brokers)
        print(f"{'thousand messages a second':34}{head}    os / Kafka")
        throughput(brokers, rounds)
        latency(brokers)


if __name__ == "__main__":
    main()
