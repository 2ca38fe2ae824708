"""What the brokers' settings decide beside ACLs: super users, and resources that no ACL names."""

from tidelog.base.errors import KafkaError
from tidelog.cli.acl.explanation import Defaults
from tidelog.cli.cluster.view import look_at_brokers
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.security.principal import parse_principal

SUPER_USERS = "super.users"
ALLOW_IF_NO_ACL = "allow.everyone.if.no.acl.found"


def read_defaults(cluster: DirectCluster) -> Defaults:
    """Without the permission to read the settings of brokers, nothing is known of them."""
    brokers = look_at_brokers(cluster).brokers.values()
    for broker in brokers:
        settings = read_settings(
            cluster,
            Kind.BROKER,
            [str(broker.id)],
            [SUPER_USERS, ALLOW_IF_NO_ACL],
            address=(broker.host, broker.port),
        ).get(str(broker.id))
        if settings is not None:
            return Defaults(
                super_users=frozenset(_principals(settings.get(SUPER_USERS, ""))),
                allow_if_no_acl=settings.get(ALLOW_IF_NO_ACL) == "true",
            )
    return Defaults()


def _principals(text: str) -> list[str]:
    principals = []
    for item in text.split(";"):
        try:
            principals.append(str(parse_principal(item.strip())))
        except KafkaError:  # empty, or what the broker itself would not start with
            continue
    return principals
