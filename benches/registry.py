"""The schema registry in a broker: its own speed, what producers feel of it, and what it costs while idle.

    python -m benches.registry [--schemas N] [--seconds N] [--rounds N]

The broker has one core, and the generators have the others. Lookups come at a steady 2,000 a second and count
from the moment when they are due. Producing is 10,000 messages of 1 KiB a second over librdkafka, alone,
beside these lookups, and beside large schemas that are registered as fast as they are answered.
"""

import argparse
import json
import os
import statistics
import time
from http.client import HTTPConnection
from typing import Any

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import create_topic, delete_topic
from benches.rig.http_load import HttpLoad, HttpLoadProcess, Paced, get, paced, post
from benches.rig.report import machine, show
from benches.start_up import seconds_to_first_answer
from benches.versus.generator import latency

LOOKUPS_PER_SECOND = 2_000
MESSAGES_PER_SECOND = 10_000
CONNECTIONS = 16
LARGE_FIELDS = 2_000
JSON = {"Content-Type": "application/json"}


def avro(name: str, fields: int = 12) -> str:
    members = [{"name": f"field_{n}", "type": ["null", "long"], "default": None} for n in range(fields)]
    return json.dumps({"type": "record", "name": name, "namespace": "bench", "fields": members})


def protobuf(name: str, fields: int) -> str:
    members = "".join(f"optional int64 field_{n} = {n + 1};" for n in range(fields))
    return f'syntax = "proto3"; message {name} {{ {members} }}'


def json_schema(name: str, fields: int) -> str:
    members = {f"field_{n}": {"type": ["null", "integer"]} for n in range(fields)}
    return json.dumps({"title": name, "type": "object", "properties": members})


KINDS = {"AVRO": avro, "PROTOBUF": protobuf, "JSON": json_schema}


def ask(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> Any:
    connection.request(method, path, body, JSON)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{method} {path}: {answer.status} {data[:200]!r}")
    return json.loads(data)


def port_of(broker: BrokerProcess) -> int:
    [url] = broker.facts["schema_registry"]
    return int(url.rpartition(":")[2])


def large_schemas(kind: str, number: int, count: int = 200) -> list[bytes]:
    """Registrations of different schemas, each of about 100 KB."""
    made = [(n, KINDS[kind](f"Large{n}", LARGE_FIELDS + n % 100)) for n in range(number, number + count)]
    bodies = [(n, json.dumps({"schemaType": kind, "schema": text}).encode()) for n, text in made]
    return [post(f"/subjects/large-{kind}-{n}/versions", body) for n, body in bodies]


class Bench:
    def __init__(self, broker: BrokerProcess, schemas: int, seconds: float, rounds: int) -> None:
        self._broker = broker
        self._schemas, self._seconds, self._rounds = schemas, seconds, rounds
        cores = sorted(os.sched_getaffinity(0))
        self._broker_core, self._load_cores = cores[0], tuple(cores[1:]) or tuple(cores)
        os.sched_setaffinity(0, self._load_cores)

    def run(self) -> None:
        self._fill()
        self._restart()
        self._lookups()
        self._large()
        self._produce()

    def _pin(self) -> None:
        for thread in self._broker.process.threads():
            os.sched_setaffinity(thread.id, {self._broker_core})

    def _fill(self) -> None:
        connection = HTTPConnection("127.0.0.1", port_of(self._broker))
        began = time.perf_counter()
        for n in range(self._schemas):
            body = json.dumps({"schema": avro(f"Record{n}")})
            ask(connection, "POST", f"/subjects/topic-{n}-value/versions", body)
        connection.close()
        show("registrations, one after the other", self._schemas / (time.perf_counter() - began), "/s")

    def _restart(self) -> None:
        self._broker.kill()
        self._broker.start()
        self._pin()
        began = time.perf_counter()
        ask(HTTPConnection("127.0.0.1", port_of(self._broker)), "GET", f"/schemas/ids/{self._schemas}")
        seconds = time.perf_counter() - began
        show(f"{self._schemas:,} schemas: from ready to a lookup, after kill -9", seconds, "s", at_most=2)
        show(f"{self._schemas:,} schemas: memory (RSS)", self._broker.rss_bytes() / 1e6, "MB")

    def _called(self, load: HttpLoad) -> tuple[Paced, float]:
        """The answers, and the broker's CPU milliseconds for each."""
        before = self._broker.cpu_seconds()
        run = paced(port_of(self._broker), load)
        if run.refused or not run.milliseconds:
            raise RuntimeError(f"{run.refused} of {len(run.milliseconds)} calls were refused")
        return run, (self._broker.cpu_seconds() - before) / len(run.milliseconds) * 1e3

    def _lookups(self) -> None:
        for name, requests in self._lookup_requests().items():
            load = HttpLoad(requests, LOOKUPS_PER_SECOND, self._seconds, CONNECTIONS, self._load_cores)
            runs = [self._called(load) for _ in range(self._rounds)]
            show(f"lookups {name}: broker CPU", min(cpu for _, cpu in runs) * 1e3, "us")
            show(f"lookups {name}: p50", statistics.median(run.at(0.5) for run, _ in runs), "ms")
            show(f"lookups {name}: p99", min(run.at(0.99) for run, _ in runs), "ms", at_most=10)

    def _lookup_requests(self) -> dict[str, list[bytes]]:
        numbers = range(1, min(self._schemas, 2_000), 3)
        return {
            "by id": [get(f"/schemas/ids/{n}") for n in numbers],
            "of the latest version": [get(f"/subjects/topic-{n}-value/versions/latest") for n in numbers],
            "by content": [
                post(f"/subjects/topic-{n}-value", json.dumps({"schema": avro(f"Record{n}")}).encode())
                for n in numbers
            ],
        }

    def _large(self) -> None:
        for kind in KINDS:
            load = HttpLoad(large_schemas(kind, 0), 0, self._seconds / 2, 1, self._load_cores)
            run, cpu = self._called(load)
            show(f"registrations of {LARGE_FIELDS:,} fields, {kind}: p50", run.at(0.5), "ms")
            show(f"registrations of {LARGE_FIELDS:,} fields, {kind}: broker CPU", cpu, "ms")

    def _produce(self) -> None:
        found: dict[str, list[float]] = {}
        for number in range(1, self._rounds + 1):
            for name, load in self._loads_beside(1000 * number).items():
                found.setdefault(name, []).append(self._produce_p99(load))
        alone = statistics.median(found["alone"])
        for name, values in found.items():
            show(f"produce at {MESSAGES_PER_SECOND:,}/s {name}: p99", statistics.median(values), "ms")
            if name != "alone":
                show(f"produce {name}: multiple of the p99 alone", statistics.median(values) / alone, "x")

    def _loads_beside(self, number: int) -> dict[str, HttpLoad | None]:
        seconds = self._seconds + 2
        by_turns = zip(*(large_schemas(kind, number) for kind in KINDS), strict=True)
        large = [request for requests in by_turns for request in requests]
        lookups = self._lookup_requests()["by id"]
        return {
            "alone": None,
            "beside lookups": HttpLoad(lookups, LOOKUPS_PER_SECOND, seconds, CONNECTIONS, self._load_cores),
            "beside large registrations": HttpLoad(large, 0, seconds, 2, self._load_cores),
        }

    def _produce_p99(self, load: HttpLoad | None) -> float:
        broker = self._broker
        create_topic(broker.address, "bench")
        running = HttpLoadProcess(port_of(broker), load) if load else None
        servers = f"127.0.0.1:{broker.port}"
        run = latency(servers, "bench", MESSAGES_PER_SECOND, self._seconds, 1024, settings={"acks": "1"})
        if running and (answers := running.result()).refused:
            raise RuntimeError(f"{answers.refused} of {len(answers.milliseconds)} calls were refused")
        delete_topic(broker.address, "bench")
        return run.extra["p99_ms"]


def idle(port: str) -> float:
    with BrokerProcess({"schema.registry.port": port}) as broker:
        time.sleep(1.5)  # past its first ticks
        return broker.rss_bytes() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schemas", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    for what, port in (("off", "0"), ("on", "-1")):
        settings = {"schema.registry.port": port}
        best = min(seconds_to_first_answer(settings) for _ in range(5))
        show(f"port {what}: process start to ApiVersions", best, "s")
        show(f"port {what}: memory (RSS) of an idle broker", idle(port), "MB")
    with BrokerProcess() as broker:
        Bench(broker, options.schemas, options.seconds, options.rounds).run()


if __name__ == "__main__":
    main()
