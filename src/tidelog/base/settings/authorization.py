"""Which requests are allowed: the authorizer, super users, and the default where no ACL matches."""

from tidelog.base.config.setting import Importance, Kind, Setting

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""Kafka's name for ACLs in the metadata, which existing configurations carry."""

SETTINGS = (
    Setting(
        "authorizer.class.name",
        Kind.ENUM,
        "",
        "Turns on authorization: ACLs and roles in the metadata decide what each principal may do. The "
        "only authorizer is the standard one, here under Kafka's name for it.",
        choices=("", STANDARD_AUTHORIZER),
        special="empty: every client may do everything",
        importance=Importance.HIGH,
    ),
    Setting(
        "super.users",
        Kind.STRING,
        "",
        "Principals that may do everything, with semicolons between them, such as "
        "`User:admin;User:CN=broker-1`. ACLs do not apply to them.",
        importance=Importance.HIGH,
    ),
    Setting(
        "allow.everyone.if.no.acl.found",
        Kind.BOOL,
        False,
        "Whether every principal may use a resource that no ACL names.",
    ),
)
