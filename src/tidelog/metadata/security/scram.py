"""AlterUserScramCredentials: set and delete credentials; a user named twice in a request is refused."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record
from tidelog.metadata.image.security_builder import credential_record
from tidelog.metadata.image.security_records import ScramCredentialDeleted
from tidelog.security.sasl.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramMechanism,
    credential_of,
)

USER_NAME_MAX = 255


class ScramUpsertion(msgspec.Struct, frozen=True):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class ScramDeletion(msgspec.Struct, frozen=True):
    user: str
    mechanism: int


class AlteredUser(ItemResult, frozen=True, kw_only=True):
    user: str


def decide_alter_scram(
    image: ClusterImage, upsertions: Sequence[ScramUpsertion], deletions: Sequence[ScramDeletion]
) -> Decision[AlteredUser]:
    """One result per user, in the order of the request. All changes of a user hold, or none."""
    changes: dict[str, list[ScramUpsertion | ScramDeletion]] = {}
    asked_for: list[ScramUpsertion | ScramDeletion] = [*deletions, *upsertions]
    for change in asked_for:
        changes.setdefault(change.user, []).append(change)
    records: list[Record] = []
    results = []
    for user, wanted in changes.items():
        try:
            records += _records(image, user, wanted)
            results.append(AlteredUser(user=user))
        except KafkaError as error:
            results.append(AlteredUser.refused(error, user=user))
    return Decision(records, results)


def _records(
    image: ClusterImage, user: str, changes: Sequence[ScramUpsertion | ScramDeletion]
) -> list[Record]:
    if not user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if len(user) > USER_NAME_MAX:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"Usernames may have {USER_NAME_MAX} characters")
    if max(Counter(change.mechanism for change in changes).values()) > 1:
        raise KafkaError(
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        )
    return [
        _upserted(user, change) if isinstance(change, ScramUpsertion) else _deleted(image, user, change)
        for change in changes
    ]


def _upserted(user: str, change: ScramUpsertion) -> Record:
    mechanism = _mechanism(change.mechanism)
    if change.iterations < ITERATIONS_MIN:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"Too few iterations: {ITERATIONS_MIN} at least")
    if change.iterations > ITERATIONS_MAX:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"Too many iterations: {ITERATIONS_MAX} at most")
    if not change.salt or not change.salted_password:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Salt and salted password must not be empty")
    credential = credential_of(mechanism, change.salted_password, change.salt, change.iterations)
    return credential_record(user, mechanism, credential)


def _deleted(image: ClusterImage, user: str, change: ScramDeletion) -> Record:
    mechanism = _mechanism(change.mechanism)
    if (user, mechanism) not in image.security.credentials:
        raise KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        )
    return ScramCredentialDeleted(user, mechanism.mechanism_name)


def _mechanism(number: int) -> ScramMechanism:
    try:
        return ScramMechanism(number)
    except ValueError:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism") from None
