"""What a broker's `/metrics` shows: samples by name and labels, as a dict."""

import urllib.request

from tidelog.testing import Broker


def scrape(broker: Broker) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{broker.metrics_address}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}
