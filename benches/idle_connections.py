"""What connections cost that do nothing: memory of a broker with 10,000 of them.

    python -m benches.idle_connections [--connections N]

Each has asked for ApiVersions once, as a client does when it connects.
"""

import argparse
import resource
import socket
import time

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import api_versions_frame
from benches.rig.report import machine, show

SETTLED_SECONDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=10_000)
    wanted = parser.parse_args().connections
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(wanted, hard - 100)
    if count < wanted:
        print(f"only {count} connections: the limit of open files is {hard}")
    request = api_versions_frame()
    print(machine())
    with BrokerProcess() as broker:
        time.sleep(SETTLED_SECONDS)
        before = broker.rss_bytes()
        sockets = []
        for _ in range(count):
            sock = socket.create_connection(broker.address)
            sock.sendall(request)
            sockets.append(sock)
        for sock in sockets:
            sock.recv(65536)
        time.sleep(SETTLED_SECONDS)
        used = broker.rss_bytes() - before
        cpu = broker.cpu_seconds()
        time.sleep(5)
        show(f"{count} idle connections: memory of each", used / count / 1024, "KiB")
        show(f"{count} idle connections: broker memory (RSS)", broker.rss_bytes() / 1e6, "MB")
        show(f"{count} idle connections: CPU", (broker.cpu_seconds() - cpu) / 5 * 100, "%")
        for sock in sockets:
            sock.close()


if __name__ == "__main__":
    main()
