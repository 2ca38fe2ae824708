"""What fetching costs: cached data through the broker against a bare `os.sendfile`, with the same reader.

    python -m benches.fetch [--rounds N] [--loop asyncio|uvloop]

The reader discards what it gets: once by copying it out of the socket, as every client does, and once
without a copy (MSG_TRUNC), where the server alone is the limit.
"""

import argparse
import struct
from pathlib import Path

from benches.rig.bare import send_file, serving
from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, fetch_frame, produce_frame, records_in
from benches.rig.load import MIB, Load, answer_size, in_own_process, read_answers, replay
from benches.rig.report import machine, show

DATA_BYTES = 128 * MIB
PASSES = 2


class Prepared:
    """A topic with data, the requests that read all of it, and where the bare server finds the same."""

    def __init__(self, broker: BrokerProcess, topic: str, batch_bytes: int, fetch_bytes: int) -> None:
        batch = batch_of(batch_bytes)
        create_topic(broker.address, topic)
        request = produce_frame(topic, batch)
        answer = answer_size(broker.address, request)
        count = DATA_BYTES // batch_bytes
        replay(broker.address, Load(request, count - 1, answer, 1, 5))
        per_fetch = fetch_bytes // batch_bytes
        self.requests = [
            fetch_frame(topic, first * records_in(batch), fetch_bytes) for first in range(0, count, per_fetch)
        ]
        self.answers = [answer_size(broker.address, request) for request in self.requests]
        if min(self.answers) < fetch_bytes:
            raise RuntimeError(
                f"a fetch was answered with {min(self.answers)} bytes, {fetch_bytes} were asked"
            )
        self.file = str(Path(broker.data) / f"{topic}-0" / "00000000000000000000.log")


def measure(
    broker: BrokerProcess, prepared: Prepared, window: int, copies: bool, rounds: int
) -> tuple[float, float]:
    """Best seconds of (the broker, bare sendfile)."""
    requests, answers = prepared.requests * PASSES, prepared.answers * PASSES
    # As many bytes as the broker sends; what stands around the records comes from the file too.
    ranges = [(index * MIB % (DATA_BYTES // 2), size) for index, size in enumerate(answers)]
    size = struct.calcsize(">i") + struct.unpack(">i", requests[0][:4])[0]
    ours = bare = float("inf")
    for _ in range(rounds):
        with serving(send_file(prepared.file, ranges, size)) as address:
            bare = min(bare, in_own_process(read_answers, address, requests, answers, window, copies))
        ours = min(ours, in_own_process(read_answers, broker.address, requests, answers, window, copies))
    return ours, bare


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--loop", choices=("auto", "asyncio", "uvloop"), default="auto")
    options = parser.parse_args()
    print(machine())
    with BrokerProcess({"event.loop": options.loop}) as broker:
        for fetch_bytes, batch_bytes in ((MIB, 16 * 1024), (8 * MIB, MIB)):
            prepared = Prepared(broker, f"fetch-{fetch_bytes}", batch_bytes, fetch_bytes)
            total = sum(prepared.answers) * PASSES / 1e6
            for window in (1, 3):
                for copies in (True, False):
                    ours, bare = measure(broker, prepared, window, copies, options.rounds)
                    how = "copied" if copies else "not copied"
                    name = f"fetch {fetch_bytes // MIB} MiB, {window} in flight, {how}"
                    show(f"{name}: broker", total / ours, "MB/s")
                    show(f"{name}: bare sendfile", total / bare, "MB/s")
                    show(f"{name}: share of bare", bare / ours, "", at_least=0.5)


if __name__ == "__main__":
    main()
