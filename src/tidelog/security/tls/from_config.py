"""The TLS settings of a listener, as the configuration has them under Kafka's names."""

from tidelog.base.config.values import ConfigValues
from tidelog.security.tls.contexts import ClientAuth, TlsSettings
from tidelog.security.tls.material import StoreSettings


def tls_settings(config: ConfigValues) -> TlsSettings:
    """`config` holds the settings of one listener: see `BrokerConfig.for_listener`."""
    keys = StoreSettings(
        "ssl.keystore",
        location=config.optional_text("ssl.keystore.location"),
        password=config.optional_text("ssl.keystore.password"),
        kind=config.optional_text("ssl.keystore.type"),
        key=config.optional_text("ssl.keystore.key"),
        certificates=config.optional_text("ssl.keystore.certificate.chain"),
        key_password=config.optional_text("ssl.key.password"),
    )
    trusted = StoreSettings(
        "ssl.truststore",
        location=config.optional_text("ssl.truststore.location"),
        password=config.optional_text("ssl.truststore.password"),
        kind=config.optional_text("ssl.truststore.type"),
        certificates=config.optional_text("ssl.truststore.certificates"),
    )
    return TlsSettings(
        keys,
        trusted,
        client_auth=ClientAuth(config.text("ssl.client.auth")),
        protocols=config.list("ssl.enabled.protocols"),
        highest=config.text("ssl.protocol"),
        cipher_suites=config.list("ssl.cipher.suites"),
        check_hostname=config.text("ssl.endpoint.identification.algorithm") == "https",
    )
