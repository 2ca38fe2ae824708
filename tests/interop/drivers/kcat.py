"""kcat, the command-line client on librdkafka: one process per call."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.interop.driver import EARLIEST, LATEST, PATIENCE_S, Record, Refused, Unfinished
from tests.interop.drivers.kcat_member import KcatMember
from tests.interop.stream_writer import KcatWriter

# Lengths go in front, so that keys and values may hold any byte.
FORMAT = "%p %o %T %K %S %h\\n%k%s\\n"
# kcat prints librdkafka's words, not the code.
CODES = {
    "Message size too large": 10,
    "Offset out of range": 1,
    "Unknown topic or partition": 3,
    "Broker failed to validate record": 87,
}


def missing_tool() -> str | None:
    return None if shutil.which("kcat") else "kcat is not installed: apt-get install kcat"


def kcat(bootstrap: str, *arguments: str, stdin: bytes = b"", patience_s: float = PATIENCE_S) -> bytes:
    command = ["kcat", "-b", bootstrap, "-m", str(int(PATIENCE_S)), *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=patience_s, check=False)
    except subprocess.TimeoutExpired:
        raise Unfinished(" ".join(command)) from None
    if done.returncode != 0:
        said = done.stderr.decode()
        raise Refused(next((code for words, code in CODES.items() if words in said), -1), said)
    return done.stdout


class Driver:
    name = "kcat"
    assignors = ("range", "roundrobin", "cooperative-sticky")
    can_be_static = True
    tells_of_fencing = True

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def close(self) -> None:
        pass

    @staticmethod
    def can_write(record: Record) -> bool:
        # kcat skips empty lines and empty files, so an empty value needs a key in front of it.
        return bool(record.value or record.key)

    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> None:
        settings = ["-X", f"topic.acks={acks}", "-X", f"enable.idempotence={str(idempotent).lower()}"]
        settings += ["-X", "message.max.bytes=8000000", "-z", codec]
        with tempfile.TemporaryDirectory() as directory:
            value = Path(directory) / "value"
            for record in records:
                options = ["-t", topic, "-p", str(record.partition), *settings]
                for name, text in record.headers:
                    options += ["-H", name if text is None else f"{name}={text.decode()}"]
                if record.value:
                    value.write_bytes(record.value)
                    key = [] if record.key is None else ["-k", record.key.decode()]
                    kcat(self._bootstrap, "-P", *options, *key, str(value))
                else:
                    null = ["-Z"] if record.value is None else []
                    kcat(
                        self._bootstrap,
                        "-P",
                        *options,
                        "-K",
                        "\t",
                        *null,
                        stdin=(record.key or b"") + b"\t\n",
                    )

    def consume(
        self,
        topic: str,
        start: int,
        count: int,
        partitions: Sequence[int] = (0,),
        patience_s: float = PATIENCE_S,
    ) -> list[Record]:
        [partition] = partitions  # kcat reads one partition or all of them
        place = {EARLIEST: "beginning", LATEST: "end"}.get(start, str(start))
        where = ["-t", topic, "-p", str(partition), "-o", place, "-c", str(count)]
        settings = ["-X", "topic.auto.offset.reset=error"]
        return parse(
            kcat(self._bootstrap, "-C", "-q", *where, *settings, "-f", FORMAT, patience_s=patience_s)
        )

    def join_group(
        self,
        group: str,
        topic: str,
        *,
        bootstrap: str | None = None,
        assignor: str = "range",
        instance_id: str | None = None,
        session_timeout_ms: int = 30_000,
        auto_commit: bool = True,
        reset: str = "earliest",
        own_process: bool = True,
    ) -> KcatMember:
        return KcatMember(
            bootstrap=bootstrap or self._bootstrap,
            group=group,
            topic=topic,
            assignor=assignor,
            instance_id=instance_id,
            session_timeout_ms=session_timeout_ms,
            auto_commit=auto_commit,
            reset=reset,
        )

    def start_writing(self, topic: str, partition: int = 0) -> KcatWriter:
        return KcatWriter(self._bootstrap, topic, partition)

    def offset_for_time(self, topic: str, time_ms: int, partition: int = 0) -> int | None:
        answer = kcat(self._bootstrap, "-Q", "-t", f"{topic}:{partition}:{time_ms}").decode()
        offset = int(answer.split("offset ")[1])
        return None if offset < 0 else offset


def parse(output: bytes) -> list[Record]:
    records = []
    while output:
        line, output = output.split(b"\n", 1)
        partition, offset, timestamp, key_size, value_size, headers = line.split(b" ", 5)
        key, output = take(output, int(key_size))
        value, output = take(output, int(value_size))
        output = output[1:]
        records.append(
            Record(
                key,
                value,
                parse_headers(headers),
                int(timestamp),
                partition=int(partition),
                offset=int(offset),
            )
        )
    return records


def take(data: bytes, size: int) -> tuple[bytes | None, bytes]:
    return (None, data) if size < 0 else (data[:size], data[size:])


def parse_headers(text: bytes) -> tuple[tuple[str, bytes | None], ...]:
    if not text:
        return ()
    pairs = [pair.split(b"=", 1) for pair in text.split(b",")]
    return tuple((name.decode(), None if value == b"NULL" else value) for name, value in pairs)
