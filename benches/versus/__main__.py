"""Compare Tidelog with Apache Kafka on this machine and write what came out into docs/benchmarks.md.

    python -m benches.versus [--quick] [--rounds N] [--only TEXT [--update]] [--no-rivals] [--no-page]

`--quick` takes a tenth of the load and one round: a look, not a result, so it leaves the page alone.
`--only TEXT` leaves it alone too; with `--update` it replaces the rows of these workloads, and says when.
NATS JetStream and RabbitMQ streams follow, in a table of their own; `--only rivals` runs nothing else.
Queues follow: share groups beside RabbitMQ's quorum queues; `--only queues` runs nothing else.
Tidelog beside itself comes last: cores and the shared sync; `--only within` runs nothing else.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benches.rig.report import machine
from benches.versus import page, results, within
from benches.versus.queues import page as queues_page
from benches.versus.queues.quorum import QuorumQueues
from benches.versus.queues.workloads import workloads as queue_workloads
from benches.versus.rivals import RIVALS
from benches.versus.rivals import page as rivals_page
from benches.versus.rivals.workloads import workloads as rivals_workloads
from benches.versus.runner import in_order, run_all, steps, title
from benches.versus.systems import ApacheKafka, System, Tidelog
from benches.versus.workload import Workload
from benches.versus.workloads import all_workloads


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", default="", help="workloads with this text in their name; or rivals")
    parser.add_argument("--update", action="store_true", help="with --only: put its rows into the page")
    parser.add_argument("--alone", action="store_true", help="without Apache Kafka and the rivals")
    parser.add_argument("--no-rivals", action="store_true", help="without NATS and RabbitMQ")
    parser.add_argument("--no-page", action="store_true", help="leave docs/benchmarks.md as it is")
    options = parser.parse_args()
    print(machine(), flush=True)
    compare_with_kafka(options)
    if not (options.no_rivals or options.alone):
        compare_with_rivals(options)
        compare_queues(options)
    if options.only in ("", "within"):
        compare_within(options)


def compare_with_kafka(options: argparse.Namespace) -> None:
    workloads = [each for each in all_workloads(_scale(options)) if options.only in title(each)]
    if not workloads:
        return
    found = measure(workloads, [Tidelog] if options.alone else [Tidelog, ApacheKafka], options)
    print(page.table(found))
    if options.quick or options.no_page or options.alone or (options.only and not options.update):
        return
    if options.only:
        titles = [title(each) for each in in_order(all_workloads(1.0))]
        found = results.merged(results.read(), found, titles)
    results.write(found)
    page.update(found)


def compare_with_rivals(options: argparse.Namespace) -> None:
    workloads = [
        each for each in rivals_workloads(_scale(options)) if options.only in f"rivals: {title(each)}"
    ]
    if not workloads:
        return
    missing = [line for rival in RIVALS if (line := rival.missing()) is not None]
    for line in missing:
        print(line, flush=True)
    present = [rival for rival in RIVALS if rival.missing() is None]
    if not present:
        return
    found = measure(workloads, [Tidelog, ApacheKafka, *present], options)
    found |= {"missing": missing, "versions": {rival.name: rival.version() for rival in present}}
    print(rivals_page.table(found))
    if not (options.quick or options.no_page) and options.only in ("", "rivals"):
        results.write(found, rivals_page.FILE)
        rivals_page.update(found)


def compare_queues(options: argparse.Namespace) -> None:
    workloads = [
        each for each in queue_workloads(_scale(options)) if options.only in f"queues: {title(each)}"
    ]
    if not workloads:
        return
    missing = QuorumQueues.missing()
    kinds = [Tidelog, ApacheKafka] if missing else [Tidelog, ApacheKafka, QuorumQueues]
    found = measure(workloads, kinds, options)
    found |= {"missing": missing, "version": None if missing else QuorumQueues.version()}
    print(queues_page.table(found))
    if not (options.quick or options.no_page) and options.only in ("", "queues"):
        results.write(found, queues_page.FILE)
        queues_page.update(found)


def compare_within(options: argparse.Namespace) -> None:
    found = within.measure(_rounds(options), _scale(options))
    print(within.table(found))
    if not (options.quick or options.no_page):
        results.write(found, within.FILE)
        within.update(found)


def measure(
    workloads: Sequence[Workload], kinds: Sequence[type[System]], options: argparse.Namespace
) -> dict[str, Any]:
    rounds = _rounds(options)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task("", total=steps(workloads, len(kinds), rounds))

        def tell(what: str) -> None:
            progress.update(bar, advance=1, description=what)

        measured, failed = run_all(workloads, kinds, rounds, tell)
    return results.as_json(measured, failed, rounds, _scale(options))


def _rounds(options: argparse.Namespace) -> int:
    given: int | None = options.rounds
    return given or (1 if options.quick else 5)


def _scale(options: argparse.Namespace) -> float:
    return 0.1 if options.quick else 1.0


if __name__ == "__main__":
    main()
