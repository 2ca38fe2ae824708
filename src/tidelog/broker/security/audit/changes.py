"""What a request changed, for the audit record: each resource by its name, with its result."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.broker.security.audit import changed_access, changed_cluster, changed_topics
from tidelog.broker.security.audit.change import AuditedChange
from tidelog.wire.apis import ApiKey

_CHANGES: dict[int, Callable[[Any, Any], Iterable[AuditedChange]]] = {
    ApiKey.CREATE_TOPICS: changed_topics.create_topics,
    ApiKey.DELETE_TOPICS: changed_topics.delete_topics,
    ApiKey.CREATE_PARTITIONS: changed_topics.create_partitions,
    ApiKey.ALTER_CONFIGS: changed_cluster.alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: changed_cluster.alter_configs,
    ApiKey.CREATE_ACLS: changed_access.create_acls,
    ApiKey.DELETE_ACLS: changed_access.delete_acls,
    ApiKey.ALTER_ROLES: changed_access.alter_roles,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: changed_access.alter_scram,
    ApiKey.ALTER_CLIENT_QUOTAS: changed_access.alter_quotas,
    ApiKey.CREATE_DELEGATION_TOKEN: changed_access.create_token,
    ApiKey.RENEW_DELEGATION_TOKEN: changed_access.change_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: changed_access.change_token,
    ApiKey.ELECT_LEADERS: changed_topics.elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: changed_topics.reassign,
    ApiKey.UPDATE_FEATURES: changed_cluster.update_features,
    ApiKey.UNREGISTER_BROKER: changed_cluster.broker,
    ApiKey.ADD_RAFT_VOTER: changed_cluster.voter,
    ApiKey.REMOVE_RAFT_VOTER: changed_cluster.voter,
    ApiKey.DELETE_RECORDS: changed_topics.delete_records,
    ApiKey.DELETE_GROUPS: changed_topics.delete_groups,
    ApiKey.OFFSET_DELETE: changed_topics.delete_offsets,
    ApiKey.ALTER_REPLICA_LOG_DIRS: changed_topics.move_log_dirs,
}
AUDITED_CHANGES = frozenset(_CHANGES)


def changes_of(api_key: int, request: Any, response: Any) -> Iterator[AuditedChange]:
    yield from _CHANGES[api_key](request, response)


def is_change(api_key: int, request: Any) -> bool:
    return api_key in _CHANGES and not getattr(request, "validate_only", False)


def result_text(code: int) -> str:
    return "OK" if code == ErrorCode.NONE else ErrorCode.of(code).name
