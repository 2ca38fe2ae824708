"""What encryption at rest costs: the CPU of a broker for a GB produced and a GB fetched, beside a plain one.

    python -m benches.encryption [--rounds N]

Both brokers run in one go and take turns, so that a busy machine slows both. `bare` is the cipher alone on
blocks of 64 KiB. The readers discard what they get without a copy.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, fetch_frame, produce_frame, records_in
from benches.rig.load import MIB, Load, answer_size, in_own_process, read_answers, replay
from benches.rig.report import machine, show
from tidelog.server.encryption.key_file import add_key

DATA_BYTES = 128 * MIB
BLOCK_BYTES = 64 * 1024
FETCH_BYTES = MIB
BATCHES = (1024, 16 * 1024, 256 * 1024)


def cipher_seconds_per_gb() -> float:
    cipher, nonce, block = AESGCM(os.urandom(32)), bytes(12), os.urandom(BLOCK_BYTES)
    begun = time.process_time()
    for _ in range(2000):
        cipher.encrypt(nonce, block, None)
    return (time.process_time() - begun) / (2000 * BLOCK_BYTES) * 1e9


def produce(broker: BrokerProcess, topic: str, batch: bytes) -> float:
    """CPU seconds of the broker for a GB."""
    create_topic(broker.address, topic)
    request = produce_frame(topic, batch)
    answer = answer_size(broker.address, request)
    count = min(DATA_BYTES // len(batch), 20_000)
    begun = broker.cpu_seconds()
    replay(broker.address, Load(request, count, answer, 1, 5))
    return (broker.cpu_seconds() - begun) / (count * len(batch)) * 1e9


def fetch(broker: BrokerProcess, topic: str, batch: bytes) -> float:
    """CPU seconds of the broker for a GB out of the page cache."""
    count = min(DATA_BYTES // len(batch), 20_000)
    per_fetch = max(1, FETCH_BYTES // len(batch))
    firsts = range(0, count - per_fetch, per_fetch)
    requests = [fetch_frame(topic, first * records_in(batch), FETCH_BYTES) for first in firsts]
    answers = [answer_size(broker.address, request) for request in requests]
    begun = broker.cpu_seconds()
    in_own_process(read_answers, broker.address, requests, answers, 3, False)
    return (broker.cpu_seconds() - begun) / sum(answers) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    show("AES-256-GCM, bare", cipher_seconds_per_gb(), "s/GB")
    with tempfile.TemporaryDirectory() as directory:
        key_file = str(Path(directory) / "log.keys")
        add_key(key_file, "bench", os.urandom(32))
        settings = {"log.dirs.encryption": "all", "log.dirs.encryption.key.file": key_file}
        with BrokerProcess() as plain, BrokerProcess(settings) as encrypted:
            for size in BATCHES:
                batch = batch_of(size)
                best = {
                    (work, broker): float("inf") for work in (produce, fetch) for broker in (plain, encrypted)
                }
                for number in range(options.rounds):
                    for (work, broker), before in list(best.items()):
                        cost = work(broker, f"batches-{size}-{number}", batch)
                        best[work, broker] = min(before, cost)
                for work in (produce, fetch):
                    name = f"{work.__name__}, batches of {size // 1024} KiB"
                    show(f"{name}: plain", best[work, plain], "s/GB")
                    show(f"{name}: encrypted", best[work, encrypted], "s/GB")
                    show(f"{name}: encrypted / plain", best[work, encrypted] / best[work, plain], "")


if __name__ == "__main__":
    main()
