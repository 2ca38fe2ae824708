"""`python -m tidelog.testing.sim --seeds 0-199`: run seeds, show progress, and how to replay a failure."""

import argparse
import gc
import os
import sys
import time
import warnings

from tidelog.testing.sim.cluster.scenario import (
    cores_scenario_of,
    queue_scenario_of,
    registry_scenario_of,
    scenario_of,
)
from tidelog.testing.sim.run import Result, run_seed


def main() -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Python draws the order of sets of strings anew for each process; a replay must have the same.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tidelog.testing.sim", *sys.argv[1:]])
    options = _options()
    began = time.process_time()
    failed: list[Result] = []
    seeds: list[int] = options.seeds
    warnings.simplefilter("ignore", RuntimeWarning)  # of coroutines that died before they began
    gc.disable()
    for number, seed in enumerate(seeds, 1):
        result = run_seed(seed, options.scenario_of(seed))
        gc.collect()
        if number == 1:
            gc.freeze()  # what is loaded by now stays, and need not be looked at again
        _show(result, options.verbose)
        sys.stdout.flush()
        if not result.ok:
            failed.append(result)
            if len(failed) >= options.stop_after:
                break
        if number % 50 == 0 or number == len(seeds):
            minutes = (time.process_time() - began) / 60
            pace = f"{number / minutes:.0f} a minute of one core"
            print(f"{number} of {len(seeds)} seeds, {len(failed)} failed, {pace}", flush=True)
    for result in failed:
        print(f"seed {result.scenario.seed} failed; replay it with: {result.replay}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tidelog.testing.sim", description=__doc__)
    parser.add_argument("--seeds", type=parse_seeds, default="0-49", help="such as 7, or 0-199, or 3,5,10-19")
    parser.add_argument(
        "--verbose", action="store_true", help="show each run, and the story of those that fail"
    )
    kinds = parser.add_mutually_exclusive_group()
    parser.set_defaults(scenario_of=scenario_of)
    for flag, of_seed, what in (
        ("--queues", queue_scenario_of, "share groups"),
        ("--cores", cores_scenario_of, "two brokers on each computer"),
        ("--registry", registry_scenario_of, "clients of the schema registry"),
    ):
        kinds.add_argument(
            flag, dest="scenario_of", action="store_const", const=of_seed, help=f"runs with {what}"
        )
    parser.add_argument("--stop-after", type=int, default=10, help="so many failures (default 10)")
    return parser.parse_args()


def parse_seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError(f"{part!r} is no seed: give 7, or 0-199, or 3,5,10-19")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise argparse.ArgumentTypeError(f"{text!r} names no seed: the first of a range comes first")
    return seeds


def _show(result: Result, verbose: bool) -> None:
    if verbose:
        print(f"seed {result.scenario.seed}: {result.scenario.describe()}")
        print(
            f"  {result.virtual_seconds:.1f} virtual s in {result.real_seconds:.2f} s, {result.steps} steps, "
            f"{result.faults} faults, {result.operations} operations, {result.records_read} records read, "
            f"slowest read {result.lag_seconds:.2f} s, trace {result.trace_hash}"
        )
    if result.ok:
        return
    print(f"seed {result.scenario.seed} FAILED: {result.scenario.describe()}")
    if verbose:
        for line in result.lines:
            print(f"  | {line}")
    for problem in result.problems[:20]:
        print(f"  - {problem}")


if __name__ == "__main__":
    sys.exit(main())
