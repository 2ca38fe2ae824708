"""Which client settings are secrets, by librdkafka's, Java's and Spark's names."""

_WORDS = ("password", "jaas", "keystore.key", "key.pem", "token", "secret", "user.info")


def is_secret_name(name: str) -> bool:
    return any(word in name.lower() for word in _WORDS)
