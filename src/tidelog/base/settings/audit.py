"""The audit record: which events are written, and where to."""

from tidelog.base.config.setting import Kind, Setting, Unit

EVENTS = ("authentication_failed", "authenticated", "denied", "changed", "read", "wrote")

SETTINGS = (
    Setting(
        "audit.file",
        Kind.STRING,
        None,
        "The file that gets one JSON line for each event of the audit record, readable by the broker's user "
        "alone. The directory must exist.",
        special="not set: no file",
        ours=True,
    ),
    Setting(
        "audit.file.max.bytes",
        Kind.LONG,
        100 * 1024 * 1024,
        "The maximum size of the audit file. At this size the broker renames it to `<file>.1`, the one "
        "before to `<file>.2`, and so on.",
        minimum=4096,
        unit=Unit.BYTES,
        ours=True,
    ),
    Setting(
        "audit.file.count",
        Kind.INT,
        10,
        "The number of renamed audit files that the broker keeps; it deletes older ones.",
        minimum=1,
        maximum=10_000,
        ours=True,
    ),
    Setting(
        "audit.topic",
        Kind.STRING,
        None,
        "The topic that gets the same lines, usually `__audit`. The brokers create it if it is missing. Only "
        "principals that may do CLUSTER_ACTION can write to it.",
        special="not set: no topic",
        ours=True,
    ),
    Setting(
        "audit.events",
        Kind.LIST,
        ("authentication_failed", "denied", "changed"),
        "The events of the audit record: failed and successful authentications, refused requests, changes of "
        "topics, settings, ACLs, users, quotas and the like, and reads and writes of records. The broker "
        "counts equal events within a second and writes them as one line; changes are never counted.",
        choices=EVENTS,
        ours=True,
    ),
)
