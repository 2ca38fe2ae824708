"""Metrics and health over HTTP: where they are served."""

from tidelog.base.config.setting import Importance, Kind, Setting

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
)
