from pathlib import Path

import pytest

from tests.rigs.certificates import CertificateFiles
from tidelog.base.config.config import BrokerConfig, load
from tidelog.security.tls.contexts import ClientAuth
from tidelog.server.network_security import NetworkSecurity

LISTENERS = {
    "listeners": "SSL://localhost:9092,SASL_SSL://localhost:9093,PLAINTEXT://localhost:9094",
    "inter.broker.listener.name": "SSL",
    "ssl.client.auth": "required",
}


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return CertificateFiles(tmp_path)


def configured(files: CertificateFiles, **settings: str) -> BrokerConfig:
    return load(flags={**LISTENERS, **files.settings(files.issue("broker")), **settings})


def client_auth(security: NetworkSecurity, name: str) -> ClientAuth:
    return security.listeners[name].watched._wanted.client_auth


def test_each_listener_with_tls_and_the_connections_to_brokers(files: CertificateFiles) -> None:
    security = NetworkSecurity(configured(files))
    assert set(security.listeners) == {"SSL", "SASL_SSL"}
    assert security.peers is not None
    plain = {"inter.broker.listener.name": "PLAINTEXT"}
    assert NetworkSecurity(configured(files, **plain)).peers is None


def test_sasl_listeners_demand_certificates_by_their_own_setting_only(files: CertificateFiles) -> None:
    config = configured(files)
    security = NetworkSecurity(config)
    assert client_auth(security, "SSL") is ClientAuth.REQUIRED
    assert client_auth(security, "SASL_SSL") is ClientAuth.NONE
    [warning] = config.warnings
    assert "set listener.name.sasl_ssl.ssl.client.auth" in warning
    own = configured(files, **{"listener.name.sasl_ssl.ssl.client.auth": "requested"})
    assert client_auth(NetworkSecurity(own), "SASL_SSL") is ClientAuth.REQUESTED
    assert own.warnings == ()


def test_dynamic_changes_reach_the_listener_and_the_connections_to_brokers(files: CertificateFiles) -> None:
    config = configured(files)
    security = NetworkSecurity(config)
    assert security.peers is not None
    before = security.listeners["SSL"].context, security.peers.context, security.listeners["SASL_SSL"].context
    renewed = {"listener.name.ssl.ssl.keystore.location": files.issue("renewed")}
    security.follow(config.with_dynamic({}, renewed))
    security._refresh()
    assert security.listeners["SSL"].context is not before[0]
    assert security.peers.context is not before[1]
    assert security.listeners["SASL_SSL"].context is before[2]
