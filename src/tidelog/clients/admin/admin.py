"""Administration with plain values: a call answers when the brokers have, and raises what they refused."""

from tidelog.clients.admin.configs import ConfigAdmin
from tidelog.clients.admin.groups import GroupAdmin
from tidelog.clients.admin.offsets import OffsetAdmin
from tidelog.clients.admin.topics import TopicAdmin


class Admin(TopicAdmin, ConfigAdmin, OffsetAdmin, GroupAdmin):
    """Creates, describes, changes and deletes topics, settings, offsets and groups.

    A call returns when the brokers have answered, and raises what they refused; where it names several
    things, all are tried before the first refusal is raised. An `Admin` may be shared by threads.

    Example:
        from tidelog import Admin, AdminConfig

        with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:
            admin.create_topic("payments", partitions=3, if_not_exists=True)
            admin.alter_topic_config("payments", {"retention.ms": 86_400_000})
            print(admin.describe_topic("payments").partitions[0].leader)
            print(admin.topic_config("payments")["retention.ms"].value)

    Args:
        config: An `AdminConfig`, or a dict: `{"bootstrap.servers": "localhost:9092"}`.

    Attributes:
        config: The `AdminConfig`.
    """
