"""Writes the zone of this pod's node into a file, which the broker reads as its rack."""

import json
import os
import ssl
import sys
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
LABEL = "topology.kubernetes.io/zone"


def zone(node: str) -> str:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    with open(f"{ACCOUNT}/token", encoding="utf-8") as file:
        token = file.read().strip()
    host = f"[{host}]" if ":" in host else host
    request = urllib.request.Request(
        f"https://{host}:{port}/api/v1/nodes/{node}", headers={"Authorization": f"Bearer {token}"}
    )
    trusted = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
    with urllib.request.urlopen(request, timeout=30, context=trusted) as answer:
        return json.load(answer)["metadata"].get("labels", {}).get(LABEL, "")


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(zone(os.environ["NODE_NAME"]))
