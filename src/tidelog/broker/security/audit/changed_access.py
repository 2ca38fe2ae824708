"""Changes of what principals may do: ACLs, roles, users, quotas, delegation tokens. Secrets are left out."""

from collections.abc import Iterator
from typing import Any

from tidelog.broker.security.audit.change import AuditedChange
from tidelog.metadata.security.roles import RoleChangeKind
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

_SCRAM = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def create_acls(request: Any, response: Any) -> Iterator[AuditedChange]:
    for acl, result in zip(request.creations, response.results, strict=True):
        yield AuditedChange("ACL", _acl_text(acl, acl.resource_pattern_type), result.error_code)


def delete_acls(_request: Any, response: Any) -> Iterator[AuditedChange]:
    for result in response.filter_results:
        if result.error_code:
            yield AuditedChange("ACL", "", result.error_code)
        for acl in result.matching_acls:
            yield AuditedChange("ACL", _acl_text(acl, acl.pattern_type), acl.error_code)


def alter_roles(request: Any, response: Any) -> Iterator[AuditedChange]:
    for change, result in zip(request.changes, response.results, strict=True):
        details = [("change", _word(RoleChangeKind, change.kind))]
        details += [
            (
                f"{_word(ResourceType, grant.resource_type)}:{_word(PatternType, grant.pattern_type)}:"
                f"{grant.resource_name}",
                ", ".join(_word(Operation, operation) for operation in grant.operations),
            )
            for grant in change.grants
        ]
        details += [(principal, "principal") for principal in change.principals]
        yield AuditedChange("ROLE", change.name, result.error_code, tuple(details))


def _acl_text(acl: Any, pattern_type: int) -> str:
    """`ALLOW User:alice READ TOPIC:LITERAL:orders from *`, also where a number means nothing."""
    kind, pattern = _word(ResourceType, acl.resource_type), _word(PatternType, pattern_type)
    permission, operation = _word(Permission, acl.permission_type), _word(Operation, acl.operation)
    return f"{permission} {acl.principal} {operation} {kind}:{pattern}:{acl.resource_name} from {acl.host}"


def _word(vocabulary: Any, number: int) -> str:
    return next((word.name for word in vocabulary if word == number), str(number))


def alter_scram(request: Any, response: Any) -> Iterator[AuditedChange]:
    details: dict[str, list[tuple[str, str]]] = {}
    for each in request.upsertions:
        mechanism = _SCRAM.get(each.mechanism, str(each.mechanism))
        details.setdefault(each.name, []).append((mechanism, f"set, {each.iterations} iterations"))
    for each in request.deletions:
        mechanism = _SCRAM.get(each.mechanism, str(each.mechanism))
        details.setdefault(each.name, []).append((mechanism, "deleted"))
    for result in response.results:
        yield AuditedChange("USER", result.user, result.error_code, tuple(details.get(result.user, ())))


def alter_quotas(request: Any, response: Any) -> Iterator[AuditedChange]:
    for entry, result in zip(request.entries, response.entries, strict=True):
        name = ", ".join(
            f"{each.entity_type} {'(default)' if each.entity_name is None else each.entity_name}"
            for each in entry.entity
        )
        details = tuple((op.key, "removed" if op.remove else f"{op.value:g}") for op in entry.ops)
        yield AuditedChange("QUOTA", name, result.error_code, details)


def create_token(_request: Any, response: Any) -> Iterator[AuditedChange]:
    owner = f"{response.principal_type}:{response.principal_name}"
    yield AuditedChange("DELEGATION_TOKEN", response.token_id, response.error_code, (("owner", owner),))


def change_token(_request: Any, response: Any) -> Iterator[AuditedChange]:
    """The request names the token by its secret, which is no name for a record."""
    expiry = (("expiry_timestamp", str(response.expiry_timestamp)),)
    yield AuditedChange("DELEGATION_TOKEN", "", response.error_code, expiry)
