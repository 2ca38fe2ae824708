"""Kafka's sasl.jaas.config texts: what they say, and errors that never show a secret."""

import pytest

from tidelog.security.sasl.jaas import JaasError, LoginModuleKind, parse_jaas, parse_modules

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def test_a_brokers_plain_module_has_its_own_user_and_those_it_takes():
    module = parse_jaas(
        f'{PLAIN} required\n  username="broker"\n  password="b-secret"\n'
        '  user_broker="b-secret"\n  user_alice="a-secret";'
    )

    assert module.kind is LoginModuleKind.PLAIN
    assert (module.username, module.password) == ("broker", "b-secret")
    assert module.users == {"broker": "b-secret", "alice": "a-secret"}
    assert not module.is_token


def test_scram_takes_a_delegation_token():
    module = parse_jaas(f'{SCRAM} REQUIRED username="id" password="hmac" tokenauth="true";')

    assert module.kind is LoginModuleKind.SCRAM
    assert module.is_token


def test_oauthbearer_needs_no_options():
    assert parse_jaas(f"{OAUTH} required ;").options == {}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"plain"', "plain"),
        ("'single'", "single"),
        ("bare-word_$", "bare-word_$"),
        (r'"a \"quote\" and a \\ backslash"', r'a "quote" and a \ backslash'),
        (r'"tab\tnewline\noctal\101"', "tab\tnewline\noctalA"),
        ('"semi;colon=and // no comment"', "semi;colon=and // no comment"),
        ('""', ""),
        ('"grüße"', "grüße"),
    ],
)
def test_values_are_quoted_or_bare(written: str, meant: str):
    assert parse_jaas(f"{PLAIN} required password={written};").password == meant


def test_comments_are_skipped():
    assert parse_jaas(f'/* of\nus */ {PLAIN} required // who\n username="x";').username == "x"


def test_an_option_name_may_be_quoted():
    assert parse_jaas(f'{PLAIN} required "user_a b"="x";').users == {"a b": "x"}


def test_clients_may_list_several_modules_and_brokers_exactly_one():
    text = f'{PLAIN} required username="a"; {SCRAM} optional username="b";'

    assert [module.username for module in parse_modules(text)] == ["a", "b"]
    with pytest.raises(JaasError, match="2 login modules"):
        parse_jaas(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "0 login modules"),
        (f'{PLAIN} required password="s3cret"', "no ;"),
        (f'{PLAIN} password="s3cret";', "control flag"),
        (f'{PLAIN} required password="s3cret;', "quote in line 1"),
        (f'{PLAIN} required\n\n password="s3\ncret";', "quote in line 3"),
        (f'{PLAIN} required password "s3cret";', "option 1"),
        (f'{PLAIN} required username="a" password==s3cret;', "option 2.*follows username"),
        (f"{PLAIN} required password=s3cret trailing;", "option 2"),
        (f'{PLAIN} required password="s3cret" password="s3cret";', "password twice"),
        ('com.example.Other required password="s3cret";', "com.example.Other"),
        ('"s3cret!" required;', "no class"),
        (f"{PLAIN} required " + "x" * 2_000_000, "the limit"),
    ],
)
def test_errors_say_what_is_wrong_and_show_no_secret(text: str, reason: str):
    with pytest.raises(JaasError, match=reason) as raised:
        parse_jaas(text)

    assert "s3" not in str(raised.value)
    assert "cret" not in str(raised.value)


def test_a_module_in_a_log_line_shows_names_only():
    module = parse_jaas(f'{PLAIN} required username="broker" user_alice="s3cret";')

    assert repr(module) == "LoginModule(PLAIN, user_alice, username)"


def test_mechanisms_have_modules():
    assert LoginModuleKind.of_mechanism("SCRAM-SHA-512") is LoginModuleKind.SCRAM
    assert LoginModuleKind.of_mechanism("PLAIN") is LoginModuleKind.PLAIN
    assert LoginModuleKind.of_mechanism("OAUTHBEARER") is LoginModuleKind.OAUTHBEARER
    assert LoginModuleKind.of_mechanism("GSSAPI") is None
