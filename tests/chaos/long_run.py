"""`make chaos MINUTES=30`: clusters of processes under random faults, round after round.

Each round has a new cluster, a seed of its own, clients, faults one after the other, and a verdict. The
first anomaly ends the run with exit code 1 and leaves everything behind that explains it.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.chaos.campaign import CRASH, Campaign
from tests.chaos.machines import MachineCluster, MachineNemesis
from tests.chaos.nemesis import ALONE_ONLY, Nemesis
from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.queues.queue_crowd import SETTINGS as QUEUE_SETTINGS
from tests.chaos.small_disk import NoSmallDisk
from tests.chaos.transactional_crowd import SETTINGS as TRANSACTIONAL_SETTINGS
from tidelog.testing.checkers import realtime_lag
from tidelog.testing.history import Completion

DISK_MEGABYTES = 256
OVERLAP = 0.3
"""How often two faults come together."""
SEVERAL = "two at once"


class Totals:
    def __init__(self) -> None:
        self.rounds = 0
        self.faults: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.records_read = 0
        self.worst_wait: dict[str, float] = {}
        """Of each fault: the longest time in which a producer got no acknowledgement."""
        self.slowest_read_s = 0.0

    def add(self, run: Campaign) -> None:
        self.rounds += 1
        for outcome in Completion:
            self.outcomes[outcome.value] += run.crowd.count(outcome)
        history = run.crowd.history
        self.records_read += sum(len(operation.read) for operation in history)
        self.slowest_read_s = max(self.slowest_read_s, realtime_lag(history))

    def table(self, minutes: float, anomalies: int) -> str:
        lines = [f"{'fault':<26}{'times':>7}{'longest wait for an acknowledgement':>38}"]
        for kind, times in sorted(self.faults.items()):
            lines.append(f"{kind:<26}{times:>7}{self.worst_wait.get(kind, 0.0):>36.1f} s")
        lines.append(f"{SEVERAL:<26}{'':>7}{self.worst_wait.get(SEVERAL, 0.0):>36.1f} s")
        lines += [
            "",
            f"{minutes:.1f} minutes, {self.rounds} rounds, {self.faults.total()} faults",
            f"sends: {self.outcomes['ok']} ok, {self.outcomes['fail']} failed, "
            f"{self.outcomes['info']} unknown; {self.records_read} records read, "
            f"the slowest {self.slowest_read_s:.1f} s after its acknowledgement",
            f"worst unavailability: {max(self.worst_wait.values(), default=0.0):.1f} s",
            f"anomalies: {anomalies}",
        ]
        return "\n".join(lines)


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    began = time.monotonic()
    until = began + 60 * options.minutes
    totals = Totals()
    problems: list[str] = []
    while time.monotonic() < until and not problems:
        directory = Path(tempfile.mkdtemp(prefix=f"tidelog-chaos-{seed}-"))
        _say(f"round {totals.rounds + 1}, seed {seed}, in {directory}")
        round_ends = min(until, time.monotonic() + 60 * options.round_minutes)
        problems = _round(directory, seed, round_ends, options, totals)
        if problems:
            for problem in problems[:20]:
                print(f"  - {problem}")
            print(f"{len(problems)} anomalies with seed {seed}; history, logs and data are in {directory}")
        else:
            shutil.rmtree(directory)
        seed += 1
    print()
    print(totals.table((time.monotonic() - began) / 60, len(problems)))
    return 1 if problems else 0


def _round(
    directory: Path, seed: int, until: float, options: argparse.Namespace, totals: Totals
) -> list[str]:
    chance = random.Random(f"round {seed}")
    settings: dict[str, object] = {"durability": chance.choice(("os", "fsync", "interval"))}
    kinds = options.faults.split(",") if options.faults else Nemesis.kinds()
    copies_in = queues_in = None
    work = "write and read"
    # Drawn apart, so that the rounds of seeds stay what they were.
    has_cores = random.Random(f"cores of round {seed}").random() < options.cores
    if has_cores:
        kinds = [kind for kind in kinds if kind in MachineNemesis.kinds()] if options.faults else []
        kinds, work = kinds or MachineNemesis.kinds(), "write and read, machines have two cores"
    elif random.Random(f"queues of round {seed}").random() < options.queues:
        settings |= QUEUE_SETTINGS
        queues_in, work = directory / "workers", "share queues"
        # Members judge schedules and retries by the clock that brokers have.
        kinds = [kind for kind in kinds if kind != "jump_clock"]
    elif chance.random() < options.transactions:
        settings |= TRANSACTIONAL_SETTINGS
        copies_in, work = directory / "copiers", "copy in transactions"
    if (copies_in or queues_in) and not options.faults:
        kinds += [CRASH] * 3
    cluster = (MachineCluster if has_cores else ProcessCluster)(directory, settings=settings)
    java = copies_in is not None and options.java
    run = Campaign(
        cluster,
        seed,
        longest_s=options.longest,
        copies_in=copies_in,
        queues_in=queues_in,
        java=java,
        nemesis=MachineNemesis if has_cores else Nemesis,
    )
    _say(f"durability {settings['durability']}, clients {work}")
    try:
        try:
            if not has_cores:
                cluster.members[3].give_small_disk(DISK_MEGABYTES)
        except NoSmallDisk as error:
            _say(f"no disk can be filled here: {error}")
            kinds = [kind for kind in kinds if kind != "fill_disk"]
        cluster.start()
        run.begin()
        while time.monotonic() < until:
            _strike(run, _choice(chance, kinds), totals)
        problems = run.problems()
        totals.add(run)
    except Exception as error:
        traceback.print_exc()
        problems = [f"the round could not go on: {error!r}"[:3000], *run.crowd.problems()]
    finally:
        run.crowd.abandon()
        run.crowd.save(directory)
        for member in cluster.members.values():
            member.kill()
            if member.disk is not None:  # which is gone with the cluster
                shutil.copytree(member.data_seen_from_outside, member.directory / "data")
        cluster.end()
    return problems


def _choice(chance: random.Random, kinds: list[str]) -> list[str]:
    first, second = chance.choice(kinds), chance.choice(kinds)
    overlap = chance.random() < OVERLAP and not {first, second} & ALONE_ONLY
    return [first, second] if overlap else [first]


def _strike(run: Campaign, kinds: list[str], totals: Totals) -> None:
    for producer in run.crowd.producers:
        producer.longest_wait_s = 0.0
    run.strike(*kinds)
    waited = run.crowd.longest_wait_s
    totals.faults.update(kinds)
    told = kinds[0] if len(kinds) == 1 else SEVERAL
    totals.worst_wait[told] = max(waited, totals.worst_wait.get(told, 0.0))
    _say(
        f"{' and '.join(kinds):<40} longest wait {waited:4.1f} s, {run.crowd.count(Completion.OK)} sends ok, "
        f"{run.crowd.count(Completion.INFO)} unknown, {len(run.crowd.record.complaints)} complaints"
    )


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--round-minutes", type=float, default=5.0, help="after which a new cluster begins")
    parser.add_argument("--seed", type=int, help="of the first round; the others count up from it")
    parser.add_argument("--longest", type=float, default=6.0, help="seconds that a fault lasts at most")
    parser.add_argument(
        "--transactions",
        type=float,
        default=0.5,
        help="the share of rounds with clients that copy in transactions",
    )
    parser.add_argument(
        "--queues", type=float, default=0.33, help="the share of rounds with members of share groups"
    )
    parser.add_argument(
        "--cores", type=float, default=0.2, help="the share of rounds with machines of two cores"
    )
    parser.add_argument("--java", action="store_true", help="a Java process copies, too")
    parser.add_argument(
        "--faults",
        help=f"some of {','.join(dict.fromkeys(Nemesis.kinds() + MachineNemesis.kinds()))}; all if not given",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
