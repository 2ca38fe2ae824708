"""Variables in values: what they give, what they refuse, and that errors never show a value."""

import pytest

from tidelog.base.variables import (
    Unresolved,
    VariableSources,
    resolve,
    with_absolute_files,
    without_values,
)

FILES = {
    "password": b"hunter2\n",
    "clients.properties": b"# of the team\nuser = ann\npassword=p\\:w\nlong = one \\\n   two\n",
    "damaged": b"user = ann\n= hunter2\n",
    "bytes": b"\xff\xfehunter2",
}


def read(name: str) -> bytes:
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return FILES[name]


SOURCES = VariableSources(
    {"USER": "ann", "EMPTY": ""}, read, lambda name: f"/etc/{name}", lambda: "tidelog-12.local"
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${env:USER}", "ann"),
        ("${USER}@${env:HOST:-nowhere}", "ann@nowhere"),
        ("${env:EMPTY:-default}", ""),
        ("${file:password}", "hunter2"),
        ("${file:clients.properties:password}", "p:w"),
        ("${file:clients.properties:long}", "one two"),
        ("CLIENTS://${host:name}.brokers:9092", "CLIENTS://tidelog-12.brokers:9092"),
        ("${host:ordinal}", "12"),
        ("$${env:USER} costs $5", "${env:USER} costs $5"),
    ],
)
def test_values(text: str, value: str) -> None:
    assert resolve(text, SOURCES) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${env:PASSWORD}", "the environment variable PASSWORD is not set"),
        ("${file:none}", "cannot read /etc/none: No such file"),
        ("${file:bytes}", "/etc/bytes is not text"),
        ("${file:damaged:user}", "/etc/damaged, line 2: is not NAME=VALUE"),
        ("${file:clients.properties:pass}", "has no pass; its names are long, password, user"),
        ("${host:address}", "'${host:address}' is neither ${host:name} nor ${host:ordinal}"),
        ("${vault:x}", "'${vault:x}' is neither ${env:NAME} nor ${file:PATH}"),
    ],
)
def test_refusals_name_the_variable_and_not_the_value(text: str, reason: str) -> None:
    with pytest.raises(Unresolved, match=reason.replace("$", r"\$").replace("{", r"\{")) as refusal:
        resolve(text, SOURCES)
    chain: BaseException | None = refusal.value
    while chain is not None:
        assert "hunter2" not in repr(chain)
        chain = chain.__cause__


def test_files_stay_variables_for_a_reader_elsewhere() -> None:
    text = "${file:a} ${file:/b:key} ${env:USER} $${file:a}"
    assert with_absolute_files(
        text, SOURCES
    ) == "${file:/etc/a} ${file:/etc//b:key} ${env:USER} $${file:a}".replace("//", "/")


def test_messages_without_values() -> None:
    written = {"hunter2": "${env:PASSWORD}", "1": "${env:ONE}", "": "${env:EMPTY}"}
    assert without_values("'hunter2' is not 10 or 1", written) == "'${env:PASSWORD}' is not 10 or ${env:ONE}"


@pytest.mark.parametrize(
    ("host", "ordinal"), [("tidelog-0", "0"), ("tidelog-007", "7"), ("a-1-b-2.zone-9", "2")]
)
def test_the_number_at_the_end_of_a_host_name(host: str, ordinal: str) -> None:
    assert resolve("${host:ordinal}", SOURCES._replace(host_name=lambda: host)) == ordinal


@pytest.mark.parametrize("host", ["tidelog", "tidelog-0a", "3f1c9ab55d21", "tidelog-1234567890"])
def test_a_host_name_without_a_number_is_refused(host: str) -> None:
    sources = SOURCES._replace(host_name=lambda: host)
    with pytest.raises(Unresolved, match=f"the host name {host} does not end with a hyphen and"):
        resolve("${host:ordinal}", sources)
