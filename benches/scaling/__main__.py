"""The coefficients of docs/scaling.md that `benches.capacity` does not have.

    python -m benches.scaling [PART …]

idle      what a broker costs that serves nothing, in clusters of 3 to 48 real brokers on this machine
spread    what copying costs by the number of leaders that the same requests go to, at steady rates
mesh      the model against a load that is spread over all of 3, 6 and 12 brokers
clients   memory and CPU of clients' connections that wait for records
syncs     syncs a second of processes that each write a file of their own on the disk of BENCH_DIR
metadata  the image, Metadata answers and decisions with 3, 48 and 192 brokers, in one process
"""

import argparse
from collections.abc import Callable

from benches.rig.report import machine
from benches.scaling import clients, idle, mesh, metadata, spread, syncs

PARTS: dict[str, Callable[[], None]] = {
    "idle": idle.main,
    "spread": spread.main,
    "mesh": mesh.main,
    "clients": clients.main,
    "syncs": syncs.main,
    "metadata": metadata.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    wanted = parser.parse_args().parts or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    print(machine(), flush=True)
    for name in wanted:
        PARTS[name]()


if __name__ == "__main__":
    main()
