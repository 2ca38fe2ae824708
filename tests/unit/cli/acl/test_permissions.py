"""Operations and types as people and Kafka's tools write them."""

import pytest

from tidelog.cli.acl.permissions import merged, operation_of, type_of
from tidelog.metadata.image.security import Grant
from tidelog.security.acls.vocabulary import Operation, PatternType, ResourceType

TOPIC = ResourceType.TOPIC


@pytest.mark.parametrize("text", ["describe-configs", "DescribeConfigs", "DESCRIBE_CONFIGS"])
def test_operations_in_every_spelling(text) -> None:
    assert operation_of(text, TOPIC) is Operation.DESCRIBE_CONFIGS


def test_unknown_operations_and_types() -> None:
    with pytest.raises(ValueError, match="is no operation on a topic; there are all, read, write"):
        operation_of("cluster-action", TOPIC)
    with pytest.raises(ValueError, match="is no operation; there are all, read"):
        operation_of("any")
    assert operation_of("all") is Operation.ALL
    assert type_of("transactional-id") is ResourceType.TRANSACTIONAL_ID
    with pytest.raises(ValueError, match="no type of resource; there are topic, group"):
        type_of("queue")


def test_one_grant_for_a_pattern() -> None:
    def grant(*operations):
        return Grant(TOPIC, PatternType.LITERAL, "a", operations)

    read, write = Operation.READ, Operation.WRITE
    assert merged([grant(read), grant(write), grant(read)]) == [grant(read, write)]
