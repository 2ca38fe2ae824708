"""One small file per API key. A key that is not listed here is not advertised."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidelog.wire.apis import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.requests.answer import HandlerAnswer
    from tidelog.wire.message import Message

HANDLERS: dict[ApiKey, str] = {
    ApiKey.PRODUCE: "records.produce",
    ApiKey.FETCH: "records.fetch",
    ApiKey.LIST_OFFSETS: "records.list_offsets",
    ApiKey.METADATA: "topics.metadata",
    ApiKey.OFFSET_COMMIT: "groups.offset_commit",
    ApiKey.OFFSET_FETCH: "groups.offset_fetch",
    ApiKey.FIND_COORDINATOR: "groups.find_coordinator",
    ApiKey.JOIN_GROUP: "groups.join_group",
    ApiKey.HEARTBEAT: "groups.heartbeat",
    ApiKey.LEAVE_GROUP: "groups.leave_group",
    ApiKey.SYNC_GROUP: "groups.sync_group",
    ApiKey.DESCRIBE_GROUPS: "groups.describe_groups",
    ApiKey.LIST_GROUPS: "groups.list_groups",
    ApiKey.SASL_HANDSHAKE: "authentication.sasl_handshake",
    ApiKey.SASL_AUTHENTICATE: "authentication.sasl_authenticate",
    ApiKey.API_VERSIONS: "cluster.api_versions",
    ApiKey.CREATE_TOPICS: "topics.create_topics",
    ApiKey.DELETE_TOPICS: "topics.delete_topics",
    ApiKey.DELETE_RECORDS: "records.delete_records",
    ApiKey.INIT_PRODUCER_ID: "transactions.init_producer_id",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "records.offset_for_leader_epoch",
    ApiKey.DESCRIBE_ACLS: "acls.describe_acls",
    ApiKey.CREATE_ACLS: "acls.create_acls",
    ApiKey.DELETE_ACLS: "acls.delete_acls",
    ApiKey.DESCRIBE_ROLES: "acls.describe_roles",
    ApiKey.ALTER_ROLES: "acls.alter_roles",
    ApiKey.DESCRIBE_CONFIGS: "configs.describe_configs",
    ApiKey.ALTER_CONFIGS: "configs.alter_configs",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "cluster.alter_replica_log_dirs",
    ApiKey.DESCRIBE_LOG_DIRS: "cluster.describe_log_dirs",
    ApiKey.CREATE_PARTITIONS: "topics.create_partitions",
    ApiKey.DELETE_GROUPS: "groups.delete_groups",
    ApiKey.OFFSET_DELETE: "groups.offset_delete",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "configs.incremental_alter_configs",
    ApiKey.DESCRIBE_CLIENT_QUOTAS: "quotas.describe_client_quotas",
    ApiKey.ALTER_CLIENT_QUOTAS: "quotas.alter_client_quotas",
    ApiKey.DESCRIBE_CLUSTER: "cluster.describe_cluster",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "groups.consumer_group_heartbeat",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "groups.consumer_group_describe",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "groups.streams_group_heartbeat",
    ApiKey.STREAMS_GROUP_DESCRIBE: "groups.streams_group_describe",
    ApiKey.SHARE_GROUP_HEARTBEAT: "shares.share_group_heartbeat",
    ApiKey.SHARE_GROUP_DESCRIBE: "shares.share_group_describe",
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "shares.describe_share_group_offsets",
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: "shares.alter_share_group_offsets",
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: "shares.delete_share_group_offsets",
    ApiKey.SHARE_FETCH: "shares.share_fetch",
    ApiKey.SHARE_ACKNOWLEDGE: "shares.share_acknowledge",
    ApiKey.DESCRIBE_SHARE_PARTITIONS: "shares.describe_share_partitions",
    ApiKey.LIST_CONFIG_RESOURCES: "configs.list_config_resources",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "telemetry.get_telemetry_subscriptions",
    ApiKey.PUSH_TELEMETRY: "telemetry.push_telemetry",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "topics.describe_topic_partitions",
    ApiKey.ADD_PARTITIONS_TO_TXN: "transactions.add_partitions_to_txn",
    ApiKey.ADD_OFFSETS_TO_TXN: "transactions.add_offsets_to_txn",
    ApiKey.END_TXN: "transactions.end_txn",
    ApiKey.WRITE_TXN_MARKERS: "transactions.write_txn_markers",
    ApiKey.TXN_OFFSET_COMMIT: "transactions.txn_offset_commit",
    ApiKey.DESCRIBE_PRODUCERS: "records.describe_producers",
    ApiKey.DESCRIBE_TRANSACTIONS: "transactions.describe_transactions",
    ApiKey.LIST_TRANSACTIONS: "transactions.list_transactions",
    ApiKey.ELECT_LEADERS: "topics.elect_leaders",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "topics.alter_partition_reassignments",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "topics.list_partition_reassignments",
    ApiKey.UPDATE_FEATURES: "cluster.update_features",
    ApiKey.UNREGISTER_BROKER: "cluster.unregister_broker",
    ApiKey.DESCRIBE_QUORUM: "cluster.describe_quorum",
    ApiKey.CAN_STOP_BROKER: "cluster.can_stop_broker",
    ApiKey.DESCRIBE_BROKER_STATE: "cluster.broker_state",
    ApiKey.ADD_RAFT_VOTER: "cluster.add_raft_voter",
    ApiKey.REMOVE_RAFT_VOTER: "cluster.remove_raft_voter",
    ApiKey.CREATE_DELEGATION_TOKEN: "authentication.create_delegation_token",
    ApiKey.RENEW_DELEGATION_TOKEN: "authentication.renew_delegation_token",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "authentication.expire_delegation_token",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "authentication.describe_delegation_token",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "authentication.describe_user_scram_credentials",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "authentication.alter_user_scram_credentials",
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: "shares.initialize_share_group_state",
    ApiKey.READ_SHARE_GROUP_STATE: "shares.read_share_group_state",
    ApiKey.WRITE_SHARE_GROUP_STATE: "shares.write_share_group_state",
    ApiKey.DELETE_SHARE_GROUP_STATE: "shares.delete_share_group_state",
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: "shares.read_share_group_state_summary",
    ApiKey.BROKER_REGISTRATION: "between_brokers.broker_registration",
    ApiKey.BROKER_HEARTBEAT: "between_brokers.broker_heartbeat",
    ApiKey.ALTER_PARTITION: "between_brokers.alter_partition",
    ApiKey.ALLOCATE_PRODUCER_IDS: "between_brokers.allocate_producer_ids",
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: "between_brokers.assign_replicas_to_dirs",
    ApiKey.SHARE_START_OFFSETS: "shares.share_start_offsets",
    ApiKey.REGISTRY_CALL: "between_brokers.registry_call",
    ApiKey.RAFT: "between_brokers.raft",
    ApiKey.FORWARD: "between_brokers.forward",
}


def load(key: ApiKey) -> "Callable[[Any, Any], HandlerAnswer]":
    handle: Callable[[Any, Any], HandlerAnswer] = _module(key).handle
    return handle


def load_check(key: ApiKey) -> "Callable[[Any, Any], Message | None] | None":
    """Returns the check of a request for the controller that only the client's own broker can make."""
    check: Callable[[Any, Any], Message | None] | None = getattr(_module(key), "check_here", None)
    return check


def load_exception(key: ApiKey) -> "Callable[[Any], bool] | None":
    """Returns what tells which requests for the controller this broker handles itself."""
    stays_here: Callable[[Any], bool] | None = getattr(_module(key), "stays_here", None)
    return stays_here


def _module(key: ApiKey) -> Any:
    return importlib.import_module(f"{__name__}.{HANDLERS[key]}")
