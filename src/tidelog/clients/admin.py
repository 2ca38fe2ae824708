"""Administration with plain values: a call answers when the brokers have, and raises what they refused."""

from tidelog.clients.admin_configs import ConfigAdmin
from tidelog.clients.admin_groups import GroupAdmin
from tidelog.clients.admin_offsets import OffsetAdmin
from tidelog.clients.admin_topics import TopicAdmin


class Admin(TopicAdmin, ConfigAdmin, OffsetAdmin, GroupAdmin):
    """`with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:`; may be shared by threads."""
