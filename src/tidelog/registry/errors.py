"""The errors of the registry's API: Confluent's codes, which clients compare, and a sentence for people.

The first three digits of a code are the HTTP status.
"""

from enum import IntEnum


class RegistryCode(IntEnum):
    BAD_REQUEST = 400
    UNAUTHORIZED = 40101
    FORBIDDEN = 40301
    NOT_FOUND = 404
    SUBJECT_NOT_FOUND = 40401
    VERSION_NOT_FOUND = 40402
    SCHEMA_NOT_FOUND = 40403
    SUBJECT_SOFT_DELETED = 40404
    SUBJECT_NOT_SOFT_DELETED = 40405
    VERSION_SOFT_DELETED = 40406
    VERSION_NOT_SOFT_DELETED = 40407
    SUBJECT_COMPATIBILITY_NOT_CONFIGURED = 40408
    SUBJECT_MODE_NOT_CONFIGURED = 40409
    METHOD_NOT_ALLOWED = 405
    NOT_ACCEPTABLE = 406
    INCOMPATIBLE_SCHEMA = 40901
    BODY_TOO_LARGE = 413
    UNSUPPORTED_MEDIA_TYPE = 415
    UNPROCESSABLE = 422
    INVALID_SCHEMA = 42201
    INVALID_VERSION = 42202
    INVALID_COMPATIBILITY_LEVEL = 42203
    INVALID_MODE = 42204
    OPERATION_NOT_PERMITTED = 42205
    REFERENCE_EXISTS = 42206
    ID_DOES_NOT_MATCH = 42207
    INVALID_SUBJECT = 42208
    SCHEMA_TOO_LARGE = 42209
    INVALID_RULE_SET = 42210
    CONTEXT_NOT_EMPTY = 42211
    TOO_MANY_REQUESTS = 429
    INTERNAL_ERROR = 500
    STORE_ERROR = 50001
    OPERATION_TIMEOUT = 50002
    FORWARDING_FAILED = 50003
    UNKNOWN_LEADER = 50004
    UNAVAILABLE = 503

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(str(int(self))[:3])


class RegistryError(Exception):
    """A request that the registry refuses."""

    def __init__(self, code: RegistryCode, message: str) -> None:
        super().__init__(code, message)  # both, so that it can be pickled
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message
