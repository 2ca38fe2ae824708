"""URLs and properties of a registry as people write them."""

import pickle

import pytest

from tidelog.blocking.registry.options import BadRegistryOption, options_of, options_of_url


def test_urls_lose_user_and_slash() -> None:
    made = options_of_url("http://ann:p%40ss@a:8081/, b:9/apis/ccompat/v7/ ,https://[::1]:1")
    assert made.urls == ("http://a:8081", "http://b:9/apis/ccompat/v7", "https://[::1]:1")
    assert (made.user, made.password) == ("ann", "p@ss")


@pytest.mark.parametrize(
    "text", ["", " , ", "ftp://a", "http://", "http://a:port", "http://a?x=1", "http://[::1"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadRegistryOption, match="http://localhost:8081"):
        options_of_url(text)


def test_a_password_is_in_no_error_and_no_repr() -> None:
    with pytest.raises(BadRegistryOption) as caught:
        options_of_url("http://ann:secret@:x")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(options_of_url("http://ann:secret@a"))


def test_properties_have_confluent_s_names() -> None:
    made = options_of(
        {"schema.registry.url": "http://a", "basic.auth.user.info": "ann:a:b", "bearer.auth.token": "t"}
    )
    assert (made.user, made.password, made.token) == ("ann", "a:b", "t")
    inherited = {
        "schema.registry.url": "http://a",
        "basic.auth.credentials.source": "SASL_INHERIT",
        "sasl.username": "bob",
        "sasl.password": "pw",
    }
    assert (options_of(inherited).user, options_of(inherited).password) == ("bob", "pw")
    assert options_of({name: value for name, value in inherited.items() if "basic" not in name}).user is None


def test_the_registry_s_own_tls_goes_before_that_of_the_brokers() -> None:
    both = {"url": "https://a", "ssl.ca.location": "brokers.pem"}
    assert options_of(both).tls.ca_file == "brokers.pem"
    assert options_of(both | {"schema.registry.ssl.ca.location": "own.pem"}).tls.ca_file == "own.pem"


def test_options_travel_to_other_processes() -> None:
    made = options_of_url("http://ann:pw@a,http://b")
    assert pickle.loads(pickle.dumps(made)) == made
