"""What the registry refuses, with the codes and sentences that clients of Confluent's registry know."""

from tidelog.base.errors import ErrorCode
from tidelog.registry.errors import RegistryCode, RegistryError


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(RegistryCode.SUBJECT_NOT_FOUND, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(RegistryCode.VERSION_NOT_FOUND, f"Version {version} not found.")


def schema_not_found(what: object = None) -> RegistryError:
    found = "Schema not found" if what is None else f"Schema {what} not found"
    return RegistryError(RegistryCode.SCHEMA_NOT_FOUND, found)


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(
        RegistryCode.SUBJECT_SOFT_DELETED,
        f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently",
    )


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(
        RegistryCode.SUBJECT_NOT_SOFT_DELETED,
        f"Subject '{subject}' was not deleted first before being permanently deleted",
    )


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        RegistryCode.VERSION_SOFT_DELETED,
        f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        RegistryCode.VERSION_NOT_SOFT_DELETED,
        f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted",
    )


def referenced(subject: str, version: int) -> RegistryError:
    return RegistryError(
        RegistryCode.REFERENCE_EXISTS,
        f"One or more references exist to the schema {{subject={subject},version={version}}}. "
        "Delete the schemas that refer to it first.",
    )


def missing_reference(subject: str, version: int) -> RegistryError:
    return RegistryError(
        RegistryCode.INVALID_SCHEMA,
        f'No schema reference found for subject "{subject}" and version {version}. Register that '
        "schema first.",
    )


def not_permitted(why: str) -> RegistryError:
    return RegistryError(RegistryCode.OPERATION_NOT_PERMITTED, why)


def incompatible(subject: str, problems: tuple[str, ...]) -> RegistryError:
    return RegistryError(
        RegistryCode.INCOMPATIBLE_SCHEMA,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
        f"details: [{', '.join(problems)}]",
    )


def invalid_schema(why: str) -> RegistryError:
    return RegistryError(RegistryCode.INVALID_SCHEMA, why)


def no_unicode() -> RegistryError:
    return RegistryError(
        RegistryCode.UNPROCESSABLE,
        "A value has characters that are no Unicode text, such as half of a surrogate pair. Remove them.",
    )


def not_stored(error: ErrorCode) -> RegistryError:
    """For a decision whose records were not appended, or not committed in time."""
    if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
        return RegistryError(
            RegistryCode.UNKNOWN_LEADER, "Another broker leads the registry now. Send the request again."
        )
    if error == ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return RegistryError(
            RegistryCode.OPERATION_TIMEOUT,
            "Too few replicas of the topic '_schemas' confirmed the change in time, and it may still happen. "
            "Check that the brokers are up, and send the request again.",
        )
    return RegistryError(
        RegistryCode.STORE_ERROR, f"The change was not written to the topic '_schemas': {error.text}"
    )
