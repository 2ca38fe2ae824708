"""Metrics that clients push to this broker (KIP-714). Which they push is metadata: see client-metrics.md."""

from tidelog.base.config.setting import Dynamic, Importance, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "telemetry.max.bytes",
        Kind.INT,
        1_048_576,
        "The maximum size of the metrics that a client pushes at once, compressed. Decompressed they may be "
        "four times as large.",
        minimum=1,
        maximum=16 * 1_048_576,
        unit=Unit.BYTES,
        importance=Importance.LOW,
    ),
    Setting(
        "metrics.clients.series.max",
        Kind.INT,
        20_000,
        "The maximum number of values of clients' metrics that this broker keeps and shows. Further values "
        "are left out, and counted.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.LOW,
        ours=True,
    ),
)
