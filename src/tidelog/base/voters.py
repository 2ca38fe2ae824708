"""The voters of the metadata quorum as a setting names them: `1@host:port`, separated by commas."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from tidelog.base.ids import NodeId

_VOTER = re.compile(r"(?P<id>[0-9]{1,9})@(?P<host>\[[0-9a-fA-F:.]+\]|[^@\s:\[\]]+):(?P<port>[0-9]{1,5})")


class VoterAddress(NamedTuple):
    id: NodeId
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_voters(texts: Iterable[str]) -> list[VoterAddress]:
    """ValueError with a reason that a person can act on."""
    voters: dict[NodeId, VoterAddress] = {}
    for text in texts:
        found = _VOTER.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not a voter; write its node.id and address as 1@host:9092")
        voter = VoterAddress(int(found["id"]), found["host"].strip("[]"), int(found["port"]))
        if not 0 < voter.port < 65_536:
            raise ValueError(f"{text!r} names port {voter.port}; use 1 to 65535")
        if voter.id in voters:
            raise ValueError(f"node {voter.id} is named twice")
        voters[voter.id] = voter
    return list(voters.values())


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[ipv6]:port`; ValueError for anything else."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not host.isprintable() or not re.fullmatch("[0-9]{1,5}", port):
        raise ValueError(f"{text!r} is not an address; write host:port")
    if not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} names port {int(port)}; use 1 to 65535")
    return host, int(port)
