"""`/` and `/v1/metadata`: what is served here."""

from tidelog import __version__
from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.calls import Answer


async def root(request: RegistryRequest) -> Answer:
    """Clients and load balancers ask whether the registry is alive."""
    return answer_of({})


async def cluster(request: RegistryRequest) -> Answer:
    scope = {
        "path": [],
        "clusters": {"kafka-cluster": request.leading.cluster_id, "schema-registry-cluster": "tidelog"},
    }
    return answer_of({"id": "", "scope": scope})


async def deployment(request: RegistryRequest) -> Answer:
    """Clients of Confluent ask where the registry runs: `attributes` names offers of Confluent's cloud."""
    return answer_of({"attributes": []})


async def version(request: RegistryRequest) -> Answer:
    return answer_of({"version": __version__, "commitId": ""})
