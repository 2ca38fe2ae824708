"""Quotas over the wire: read all of them, and set or remove limits of one entity."""

from collections.abc import Mapping

from tidelog.cli.direct.cluster import CONTROLLER_CHANGES, DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.quota.entities import entity_names, entity_text
from tidelog.security.quotas.entity import ABSENT, QuotaEntity, QuotaKey, Quotas
from tidelog.wire.messages import alter_client_quotas as altering
from tidelog.wire.messages import describe_client_quotas as describing


def read_quotas(cluster: DirectCluster) -> Quotas:
    """All that are set; limits of a newer broker that are unknown here are left out."""
    answer = cluster.ask(describing.DescribeClientQuotasRequest())
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, "The quotas cannot be listed")
    known = {key.value for key in QuotaKey}
    return {
        _entity(entry): {QuotaKey(value.key): value.value for value in entry.values if value.key in known}
        for entry in answer.entries or ()
    }


def change_quota(
    cluster: DirectCluster, entity: QuotaEntity, limits: Mapping[QuotaKey, float | None]
) -> None:
    """None takes a limit away."""
    entry = altering.AlterClientQuotasRequestEntryData(
        entity=[
            altering.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity_names(entity).items()
        ],
        ops=[
            altering.OpData(key=key.value, value=value or 0.0, remove=value is None)
            for key, value in limits.items()
        ],
    )
    request = altering.AlterClientQuotasRequest(entries=[entry])
    [answer] = cluster.repeat(
        lambda: cluster.ask(request).entries,
        lambda entries: entries[0].error_code in CONTROLLER_CHANGES,
    )
    if answer.error_code:
        raise refusal(
            answer.error_code, answer.error_message, f"The quota of {entity_text(entity)} is not changed"
        )


def _entity(entry: describing.EntryData) -> QuotaEntity:
    names = {part.entity_type: part.entity_name for part in entry.entity}
    return QuotaEntity(names.get("user", ABSENT), names.get("client-id", ABSENT), names.get("ip", ABSENT))
