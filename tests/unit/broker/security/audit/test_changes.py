"""What each request that changes something says in the audit record, and that no secret is in it."""

from typing import Any

import pytest

from tidelog.broker.handlers import HANDLERS
from tidelog.broker.requests.forwarding import FORWARDED
from tidelog.broker.security.audit.change import HIDDEN
from tidelog.broker.security.audit.changes import AUDITED_CHANGES, changes_of, is_change, result_text
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.messages import (
    alter_client_quotas,
    alter_roles,
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    create_topics,
    delete_acls,
    incremental_alter_configs,
)

READS = {
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.CAN_STOP_BROKER,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
}


def changed(api_key: ApiKey, request: Any, response: Any) -> list[tuple[str, str, str, dict[str, str]]]:
    return [
        (change.resource_type, change.name, result_text(change.code), dict(change.details))
        for change in changes_of(api_key, request, response)
    ]


def test_every_request_that_the_controller_decides_is_recorded() -> None:
    assert (FORWARDED & HANDLERS.keys()) - READS <= AUDITED_CHANGES


def test_created_topics() -> None:
    request = create_topics.CreateTopicsRequest(
        topics=[
            create_topics.CreatableTopic(
                name="orders",
                num_partitions=3,
                configs=[create_topics.CreatableTopicConfig(name="retention.ms", value="1000")],
            )
        ]
    )
    result = create_topics.CreatableTopicResult(name="orders", error_code=36)
    response = create_topics.CreateTopicsResponse(topics=[result])
    assert changed(ApiKey.CREATE_TOPICS, request, response) == [
        ("TOPIC", "orders", "TOPIC_ALREADY_EXISTS", {"partitions": "3", "retention.ms": "1000"})
    ]


def test_a_request_that_only_validates_changes_nothing() -> None:
    request = create_topics.CreateTopicsRequest(validate_only=True)
    assert not is_change(ApiKey.CREATE_TOPICS, request)


def test_settings_without_their_secrets() -> None:
    module = incremental_alter_configs
    configs = [
        module.AlterableConfig(name="max.connections", value="5"),
        module.AlterableConfig(name="max.connections.per.ip", config_operation=1),
        module.AlterableConfig(name="ssl.keystore.passwrod", value="hunter2"),
    ]
    resource = module.AlterConfigsResource(resource_type=4, resource_name="1", configs=configs)
    request = module.IncrementalAlterConfigsRequest(resources=[resource])
    result = module.AlterConfigsResourceResponse(resource_type=4, resource_name="1")
    response = module.IncrementalAlterConfigsResponse(responses=[result])
    [(kind, name, code, details)] = changed(ApiKey.INCREMENTAL_ALTER_CONFIGS, request, response)
    assert (kind, name, code) == ("BROKER", "1", "OK")
    assert details == {
        "max.connections": "5",
        "max.connections.per.ip": "DELETE",
        "ssl.keystore.passwrod": HIDDEN,
    }


def test_acls() -> None:
    creation = create_acls.AclCreation(
        resource_type=2,
        resource_name="orders",
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    text = "ALLOW User:alice READ TOPIC:LITERAL:orders from *"
    created = create_acls.CreateAclsResponse(results=[create_acls.AclCreationResult()])
    request = create_acls.CreateAclsRequest(creations=[creation])
    assert changed(ApiKey.CREATE_ACLS, request, created) == [("ACL", text, "OK", {})]
    match = delete_acls.DeleteAclsMatchingAcl(
        resource_type=2,
        resource_name="orders",
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    deleted = delete_acls.DeleteAclsFilterResult(matching_acls=[match])
    response = delete_acls.DeleteAclsResponse(filter_results=[deleted])
    assert changed(ApiKey.DELETE_ACLS, None, response) == [("ACL", text, "OK", {})]


def test_roles_with_all_their_principals() -> None:
    grant = alter_roles.RoleGrant(resource_type=2, resource_name="orders", operations=[3])
    change = alter_roles.RoleChange(name="readers", grants=[grant], principals=["User:ann", "User:bob"])
    response = alter_roles.AlterRolesResponse(results=[alter_roles.RoleChangeResult(name="readers")])
    [(kind, name, result, details)] = changed(
        ApiKey.ALTER_ROLES, alter_roles.AlterRolesRequest(changes=[change]), response
    )
    assert (kind, name, result) == ("ROLE", "readers", "OK")
    assert details["TOPIC:LITERAL:orders"] == "READ"
    assert [details[principal] for principal in ("User:ann", "User:bob")] == ["principal"] * 2


def test_users_without_their_passwords() -> None:
    module = alter_user_scram_credentials
    upsertion = module.ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"secret"
    )
    deletion = module.ScramCredentialDeletion(name="alice", mechanism=2)
    request = module.AlterUserScramCredentialsRequest(upsertions=[upsertion], deletions=[deletion])
    result = module.AlterUserScramCredentialsResult(user="alice")
    response = module.AlterUserScramCredentialsResponse(results=[result])
    assert changed(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, request, response) == [
        ("USER", "alice", "OK", {"SCRAM-SHA-256": "set, 4096 iterations", "SCRAM-SHA-512": "deleted"})
    ]


def test_quotas() -> None:
    module = alter_client_quotas
    entity = [module.EntityData(entity_type="user"), module.EntityData(entity_type="ip", entity_name="::1")]
    ops = [module.OpData(key="producer_byte_rate", value=1024.0), module.OpData(key="x", remove=True)]
    entry = module.AlterClientQuotasRequestEntryData(entity=entity, ops=ops)
    response = module.AlterClientQuotasResponse(entries=[module.AlterClientQuotasResponseEntryData()])
    request = module.AlterClientQuotasRequest(entries=[entry])
    assert changed(ApiKey.ALTER_CLIENT_QUOTAS, request, response) == [
        ("QUOTA", "user (default), ip ::1", "OK", {"producer_byte_rate": "1024", "x": "removed"})
    ]


def test_a_token_without_its_secret() -> None:
    response = create_delegation_token.CreateDelegationTokenResponse(
        principal_type="User", principal_name="alice", token_id="abc", hmac=b"secret"
    )
    [(kind, name, code, details)] = changed(ApiKey.CREATE_DELEGATION_TOKEN, None, response)
    assert (kind, name, code, details) == ("DELEGATION_TOKEN", "abc", "OK", {"owner": "User:alice"})


@pytest.mark.parametrize("api_key", sorted(AUDITED_CHANGES))
def test_an_empty_request_is_described_too(api_key: int) -> None:
    spec = API[api_key]
    changes = list(changes_of(api_key, spec.request_class()(), spec.response_class()()))
    assert all(change.code == 0 for change in changes)
