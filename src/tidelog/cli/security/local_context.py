"""The context of the command line for a secured cluster on this machine: `tidelog --context local …`.

The context names the client file in the place of the password, so the password has one home.
"""

import logging
from itertools import count

from tidelog.cli.context.store import (
    SERVERS,
    Contexts,
    SavedContext,
    changed_contexts,
    contexts_path,
    read_contexts,
)
from tidelog.cli.exits import CliError
from tidelog.cli.security.client_files import read_properties
from tidelog.cli.security.files import SecurityFiles

NAME = "local"
CA = "ssl.ca.location"

log = logging.getLogger("tidelog.cli")


def save_context(files: SecurityFiles, servers: str) -> str | None:
    """Returns its name: that which the cluster has already, or the first free one.

    None where contexts cannot be saved: a service may have no home directory, and brokers need none.
    """
    try:
        return _saved(files, servers)
    except (CliError, OSError, RuntimeError) as error:
        log.warning("no context is saved for the command line: %s", error)
        return None


def _saved(files: SecurityFiles, servers: str) -> str:
    path = contexts_path()
    properties = read_properties(files.client.read_text()) | {
        SERVERS: servers,
        "sasl.password": f"${{file:{files.client}:sasl.password}}",
    }
    contexts = read_contexts(path)
    name = _name(contexts, properties[CA])
    if name not in contexts.by_name or contexts.by_name[name].properties != properties:
        with changed_contexts(path) as contexts:
            name = _name(contexts, properties[CA])
            contexts.by_name[name] = SavedContext(properties)
    return name


def _name(contexts: Contexts, ca: str) -> str:
    """Clusters are told apart by their authorities."""
    own = [name for name, saved in contexts.by_name.items() if saved.properties.get(CA) == ca]
    free = (name for number in count(1) if (name := NAME if number == 1 else f"{NAME}-{number}"))
    return own[0] if own else next(name for name in free if name not in contexts.by_name)
