"""Which client properties are about the registry alone, so that no client of brokers knows them."""

PREFIX = "schema.registry."
URL = PREFIX + "url"
OF_REGISTRIES = (PREFIX, "basic.auth.", "bearer.auth.")


def is_registry_property(name: str) -> bool:
    return name.startswith(OF_REGISTRIES)
