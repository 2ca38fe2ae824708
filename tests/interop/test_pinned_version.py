"""A client that believes it knows the broker's version is told what is not there, in words it understands."""

import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import UnsupportedVersionError


def test_kafka_python_with_a_pinned_version(broker_address: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker_address, api_version=(3, 9))
    try:
        with pytest.raises(UnsupportedVersionError):
            admin.describe_user_scram_credentials(["somebody"])
        assert admin.list_topics() is not None, "the connection is as good as before"
    finally:
        admin.close()
