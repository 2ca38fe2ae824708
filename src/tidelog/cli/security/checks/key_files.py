"""Files with keys and passwords on this machine that other users of it can read."""

import os
import stat
from collections.abc import Iterator

from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.security.checks.broker_facts import BrokerFacts

STORES = ("ssl.keystore.location", "ssl.truststore.location")


def check_key_files(broker: BrokerFacts) -> Iterator[CheckFinding]:
    """Of the brokers that run here: on other machines the same paths are other files, or none."""
    for name, path in sorted(broker.settings.items()):
        if name.endswith("ssl.keystore.location") and path:
            yield from check_file(path, "the key of a broker")


def check_file(path: str, what: str) -> Iterator[CheckFinding]:
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return
    readers = "every user" if mode & stat.S_IROTH else "its group" if mode & stat.S_IRGRP else None
    if readers is not None:
        yield CheckFinding(
            "readable-secret",
            Severity.SERIOUS if mode & stat.S_IROTH else Severity.LOW,
            path,
            f"{what} can be read by {readers} of this machine (mode {mode:04o})",
            "a reader can act as its owner.",
            f"chmod 600 {path}",
        )
