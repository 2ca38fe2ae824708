"""The versions of a subject that a registry may not have."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient


def versions_there(client: "RegistryClient", subject: str, *, deleted: bool = False) -> list[int]:
    """Empty for a subject that is unknown, or whose versions are all soft-deleted. `deleted`: those, too."""
    from tidelog.blocking.registry.errors import RegistryRefused

    try:
        return client.versions(subject, deleted=deleted)
    except RegistryRefused as refusal:
        if refusal.is_not_found:
            return []
        raise
