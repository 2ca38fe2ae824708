"""Security settings as librdkafka takes them, from those that people paste from a Java client.

librdkafka knows some of Java's names and not others. What it does not know is translated; what has no
counterpart is refused with the name of the setting to use.
"""

from collections.abc import Mapping
from typing import Any

from tidelog.blocking.errors import SecurityError
from tidelog.blocking.security_options import login_module
from tidelog.clients.errors import ConfigurationError

_NO_COUNTERPART = {
    "sasl.client.callback.handler.class": "leave it out: a Java class cannot run here.",
    "sasl.login.class": "leave it out: a Java class cannot run here.",
    "ssl.engine.factory.class": "leave it out: a Java class cannot run here.",
    "ssl.provider": "leave it out: OpenSSL does the encryption.",
    "ssl.keymanager.algorithm": "leave it out: OpenSSL does the encryption.",
    "ssl.trustmanager.algorithm": "leave it out: OpenSSL does the encryption.",
    "ssl.secure.random.implementation": "leave it out: OpenSSL does the encryption.",
    "security.providers": "leave it out: OpenSSL does the encryption.",
    "key.serializer": "pass key_serializer to the producer.",
    "value.serializer": "pass value_serializer to the producer.",
    "key.deserializer": "pass key_deserializer to the consumer.",
    "value.deserializer": "pass value_deserializer to the consumer.",
    "interceptor.classes": "leave it out: a Java class cannot run here.",
    "metric.reporters": "leave it out: a Java class cannot run here.",
}
_OAUTH_HANDLERS = ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler")
_JAVA_ONLY = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "ssl.truststore.",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
    "ssl.protocol",
    "sasl.oauthbearer.token.endpoint.url",
    *_NO_COUNTERPART,
)
_TLS_VERSIONS = {"TLSV1.2", "TLSV1.3", "TLS"}


def for_librdkafka(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings under librdkafka's names. Raises ConfigurationError."""
    if not any(name.startswith(_JAVA_ONLY) for name in properties):
        return dict(properties)
    made = dict(properties)
    for name, attempt in _NO_COUNTERPART.items():
        if name in made:
            raise _refused(f"{name} is a setting of the Java client alone.", attempt)
    for translate in (_login, _tokens, _trust, _keys, _host_names, _versions):
        try:
            translate(made)
        except SecurityError as error:
            raise _refused(f"{error}.", "change the setting that the message names.") from error
    return made


def _login(made: dict[str, Any]) -> None:
    handler = str(made.pop("sasl.login.callback.handler.class", ""))
    if handler and not handler.endswith(_OAUTH_HANDLERS):
        raise _refused(
            f"sasl.login.callback.handler.class={handler} is a Java class, which cannot run here.",
            "set sasl.oauthbearer.token.endpoint.url, or oauth_cb of librdkafka.",
        )
    login = login_module({"sasl.jaas.config": str(made.pop("sasl.jaas.config", ""))})
    if login is None:
        return
    if login.is_token:
        raise _refused(
            "sasl.jaas.config has a delegation token (tokenauth), which librdkafka does not speak.",
            "set sasl.username and sasl.password of a user.",
        )
    names = {
        "username": "sasl.username",
        "password": "sasl.password",
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    }
    for option, name in names.items():
        if option in login.options:
            made.setdefault(name, login.options[option])


def _tokens(made: dict[str, Any]) -> None:
    if "sasl.oauthbearer.token.endpoint.url" in made:
        made.setdefault("sasl.oauthbearer.method", "oidc")


def _trust(made: dict[str, Any]) -> None:
    from tidelog.blocking.stores import trust_store

    given = _taken(made, "ssl.truststore.", ("location", "certificates", "type", "password"))
    if not given:
        return
    store = trust_store(given)
    if store.file is not None:
        made.setdefault("ssl.ca.location", store.file)
    elif store.text is not None:
        made.setdefault("ssl.ca.pem", store.text)


def _keys(made: dict[str, Any]) -> None:
    from tidelog.blocking.stores import key_store

    given = _taken(made, "ssl.keystore.", ("location", "key", "certificate.chain", "type", "password"))
    if not given:
        return
    if "ssl.key.password" in made:
        given["ssl.key.password"] = str(made["ssl.key.password"])
    store = key_store(given)
    if store.file is not None:
        made.setdefault("ssl.certificate.location", store.file)
        made.setdefault("ssl.key.location", store.file)
        return
    if store.text is not None:
        made.setdefault("ssl.certificate.pem", store.text)
    if store.key is not None:
        made.setdefault("ssl.key.pem", store.key)


def _host_names(made: dict[str, Any]) -> None:
    if made.get("ssl.endpoint.identification.algorithm") == "":
        made["ssl.endpoint.identification.algorithm"] = "none"


def _versions(made: dict[str, Any]) -> None:
    for name in ("ssl.enabled.protocols", "ssl.protocol"):
        versions = {part.strip().upper() for part in str(made.pop(name, "TLS")).split(",")}
        if not versions <= _TLS_VERSIONS:
            raise _refused(f"{name} names a version of TLS that is broken.", "leave it out, or use TLSv1.3.")


def _taken(made: dict[str, Any], prefix: str, names: tuple[str, ...]) -> dict[str, str]:
    return {prefix + name: str(made.pop(prefix + name)) for name in names if prefix + name in made}


def _refused(what: str, attempt: str) -> ConfigurationError:
    return ConfigurationError(what, cause="the settings come from a Java client.", attempt=attempt)
