"""Compare Tidelog with Apache Kafka on this machine and write what came out into docs/benchmarks.md.

    python benches/versus [--quick] [--rounds N] [--only TEXT] [--no-page]

`--quick` takes a tenth of the load and one round: a look, not a result, so it leaves the page alone.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rig.report import machine

from versus import page, results
from versus.runner import run_all, steps, title
from versus.systems import ApacheKafka, System, Tidelog
from versus.workloads import all_workloads


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", default="", help="workloads with this text in their name")
    parser.add_argument("--alone", action="store_true", help="without Apache Kafka")
    parser.add_argument("--no-page", action="store_true", help="leave docs/benchmarks.md as it is")
    options = parser.parse_args()
    scale = 0.1 if options.quick else 1.0
    rounds = options.rounds or (1 if options.quick else 5)
    workloads = [each for each in all_workloads(scale) if options.only in title(each)]
    kinds: list[type[System]] = [Tidelog] if options.alone else [Tidelog, ApacheKafka]
    print(machine(), flush=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task("", total=steps(workloads, len(kinds), rounds))

        def tell(what: str) -> None:
            progress.update(bar, advance=1, description=what)

        measured, failed = run_all(workloads, kinds, rounds, tell)
    found = results.as_json(measured, failed, rounds, scale)
    print(page.table(found))
    if not (options.quick or options.only or options.no_page or options.alone):
        results.write(found)
        page.update(found)


if __name__ == "__main__":
    main()
