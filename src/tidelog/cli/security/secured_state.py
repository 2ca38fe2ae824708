"""What a secured data directory remembers: the brokers' own ports, and whether the first user exists."""

import json
import os
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tidelog.cli.exits import CliError
from tidelog.cli.security.files import DIRECTORY, write_private
from tidelog.server.free_ports import bound, free_ports, may_be_given_away

STATE = "secured.json"


@dataclass(frozen=True, slots=True)
class SecuredState:
    broker_ports: tuple[int, ...] = ()
    """Where brokers reach each other, by node id from 1 on."""
    admin_exists: bool = False
    """Confirmed by the running cluster: the first user is there."""


def is_secured(data: str) -> bool:
    return os.path.exists(os.path.join(data, DIRECTORY, STATE))


def read_state(path: Path) -> SecuredState:
    try:
        found: Mapping[str, object] = json.loads(path.read_text(encoding="utf-8"))
        ports = found["broker_ports"]
        if not isinstance(ports, list):
            raise TypeError("broker_ports is not a list")
        return SecuredState(tuple(int(port) for port in ports), bool(found["admin_exists"]))
    except FileNotFoundError:
        return SecuredState()
    except OSError as error:
        raise CliError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CliError(
            f"{path} cannot be understood: {error}.",
            cause="it was changed by hand, or by another version.",
            attempt="put it back, or use another directory with --data",
        ) from error


def write_state(path: Path, state: SecuredState) -> None:
    write_private(path, json.dumps(asdict(state)).encode())


def free_port(wanted: int, others: Container[int], in_a_row: int = 1, step: int = 1) -> int:
    """The wanted port, or any if that is taken, or may be by an outgoing connection while its broker is down;
    the first of so many `in_a_row`, `step` apart."""
    row = range(wanted, wanted + in_a_row * step, step)
    if wanted > 0 and not any(port in others for port in row) and all(map(_is_free, row)):
        return wanted
    return free_ports("localhost", 1, in_a_row=in_a_row, step=step, others=others)[0]


def _is_free(port: int) -> bool:
    if may_be_given_away(port):
        return False
    try:
        bound("localhost", port).close()
    except OSError:
        return False
    return True
