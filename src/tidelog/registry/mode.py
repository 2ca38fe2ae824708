"""Modes: whether schemas can be registered under a subject, and whether a client chooses their ids."""

from enum import StrEnum

from tidelog.registry.errors import RegistryCode, RegistryError


class Mode(StrEnum):
    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    """READONLY for every context; Confluent keeps it for old clients."""
    IMPORT = "IMPORT"
    """Clients give ids and versions, and nothing is compared: for schemas of another registry."""
    FORWARD = "FORWARD"
    """IMPORT, under a subject that another registry writes to for good."""

    @property
    def is_import(self) -> bool:
        return self in (Mode.IMPORT, Mode.FORWARD)

    @property
    def is_read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)


def checked_mode(given: object) -> Mode:
    try:
        return Mode(str(given).upper())
    except ValueError:
        raise RegistryError(
            RegistryCode.INVALID_MODE,
            "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.",
        ) from None
