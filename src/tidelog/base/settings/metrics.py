"""Metrics and health over HTTP: where they are served, and how much detail they may show."""

from tidelog.base.config.setting import Dynamic, Importance, Kind, Setting

FREE_PORT = -1

SETTINGS = (
    Setting(
        "metrics.port",
        Kind.INT,
        0,
        "The port that serves metrics to Prometheus (`/metrics`) and the broker's health (`/healthz`, "
        "`/readyz`) over HTTP. Usually 9404. While it is 0, the broker measures nothing for it.",
        minimum=FREE_PORT,
        maximum=65535,
        importance=Importance.HIGH,
        special="0: no such port; -1: a free one",
        ours=True,
    ),
    Setting(
        "metrics.host",
        Kind.STRING,
        "localhost",
        "The address that `metrics.port` listens on. `0.0.0.0` means every interface. Metrics name topics, "
        "groups and clients, and the default shows them to this machine only.",
        importance=Importance.HIGH,
        ours=True,
    ),
    Setting(
        "metrics.security.protocol",
        Kind.ENUM,
        "PLAINTEXT",
        "Whether `metrics.port` speaks TLS (SSL), with the broker's certificate in `ssl.keystore.location`. "
        "With `ssl.client.auth=required` clients need a certificate, probes of `/healthz` too.",
        choices=("PLAINTEXT", "SSL"),
        ours=True,
    ),
    Setting(
        "metrics.token.file",
        Kind.STRING,
        None,
        "A file with the token that clients of `/metrics` must send (`Authorization: Bearer`). A new token "
        "counts without a restart. `/healthz` and `/readyz` want none.",
        special="not set: no token",
        ours=True,
    ),
    Setting(
        "metrics.partitions.max",
        Kind.INT,
        2_000,
        "The number of replicas on a broker up to which its metrics show each partition (and each committed "
        "offset of a group). Above it they show sums only: of the broker, of topics and of groups.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
    Setting(
        "metrics.topics.max",
        Kind.INT,
        1_000,
        "The number of topics that metrics show by name. The traffic of topics above it is shown together, "
        'with `topic="(others)"`.',
        minimum=0,
        ours=True,
    ),
    Setting(
        "metrics.groups.max",
        Kind.INT,
        1_000,
        "The number of groups of a broker that its metrics show by name: those with the largest lag. The "
        "others count in the sums only.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
)
