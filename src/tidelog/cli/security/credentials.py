"""Users of a cluster over the wire: SCRAM credentials set, deleted and listed."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.base.errors import ErrorCode
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.metadata.image.image import SECURITY_VERSION
from tidelog.metadata.image.security_builder import credential_record
from tidelog.metadata.security.bootstrap import Bootstrap
from tidelog.security.sasl.scram_credential import (
    ITERATIONS_MIN,
    ScramMechanism,
    new_credential,
    salted_password,
)

SALT_BYTES = 24
ITERATIONS = ITERATIONS_MIN
"""As Kafka's tools have it, and as brokers pretend for users that do not exist: another number would tell
which names are users."""
ALL_MECHANISMS = tuple(ScramMechanism)


@dataclass(frozen=True, slots=True)
class ListedUser:
    name: str
    iterations: dict[str, int]
    """By mechanism."""


def set_password(
    cluster: DirectCluster,
    user: str,
    password: str,
    mechanisms: Iterable[ScramMechanism] = ALL_MECHANISMS,
    iterations: int = ITERATIONS,
) -> None:
    from tidelog.wire.messages import alter_user_scram_credentials as wire

    upsertions = []
    for mechanism in mechanisms:
        salt = os.urandom(SALT_BYTES)
        salted = salted_password(mechanism, password, salt, iterations)
        upsertions.append(
            wire.ScramCredentialUpsertion(
                name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
            )
        )
    _alter(cluster, wire.AlterUserScramCredentialsRequest(upsertions=upsertions))


def allow_users(cluster: DirectCluster) -> None:
    """A cluster that an early version made learns to store users; any other stays as it is."""
    from tidelog.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    update = FeatureUpdateKey(feature=SECURITY_VERSION, max_version_level=1)
    answer = cluster.ask(UpdateFeaturesRequest(feature_updates=[update]), at_least=1)
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, f"The feature {SECURITY_VERSION}")


def delete_user(cluster: DirectCluster, user: str, mechanisms: Iterable[ScramMechanism]) -> None:
    from tidelog.wire.messages import alter_user_scram_credentials as wire

    deletions = [wire.ScramCredentialDeletion(name=user, mechanism=mechanism) for mechanism in mechanisms]
    _alter(cluster, wire.AlterUserScramCredentialsRequest(deletions=deletions))


def _alter(cluster: DirectCluster, request: object) -> None:
    answer = cluster.repeat(
        lambda: cluster.ask(request),  # type: ignore[arg-type]
        lambda given: any(result.error_code == ErrorCode.NOT_CONTROLLER for result in given.results),
    )
    for result in answer.results:
        if result.error_code:
            raise refusal(result.error_code, result.error_message, f"User '{result.user}'")


def list_users(cluster: DirectCluster, names: Sequence[str] | None = None) -> list[ListedUser]:
    """Those of `names` that exist, or all. Raises CliError."""
    from tidelog.wire.messages import describe_user_scram_credentials as wire

    users = None if names is None else [wire.UserName(name=name) for name in names]
    answer = cluster.ask(wire.DescribeUserScramCredentialsRequest(users=users))
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, "The users cannot be listed")
    listed = []
    for result in answer.results:
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        if result.error_code:
            raise refusal(result.error_code, result.error_message, f"User '{result.user}'")
        listed.append(
            ListedUser(
                result.user,
                {
                    ScramMechanism(info.mechanism).mechanism_name: info.iterations
                    for info in result.credential_infos
                },
            )
        )
    return sorted(listed, key=lambda user: user.name)


def bootstrap_of(user: str, password: str, cluster_id: str = "") -> Bootstrap:
    """The first user of a cluster that does not exist yet."""
    return Bootstrap(
        cluster_id,
        tuple(
            credential_record(
                user, mechanism, new_credential(mechanism, password, os.urandom(SALT_BYTES), ITERATIONS)
            )
            for mechanism in ALL_MECHANISMS
        ),
    )
