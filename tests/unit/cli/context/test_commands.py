"""`tidelog context`: what is saved, what is shown, and that only the owner can read it."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tidelog.cli.context.store import SERVERS, SavedContext, changed_contexts, read_contexts
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.main import run

JAVA = """\
bootstrap.servers=a:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="ann" password="hunter2";
ssl.truststore.location=ca.pem
key.serializer=org.apache.kafka.common.serialization.StringSerializer
"""
Tidelog = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("TIDELOG_CONTEXT", "TIDELOG_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "tidelog" / "contexts.yaml"


@pytest.fixture
def tidelog(file: Path, capsys: pytest.CaptureFixture[str]) -> Tidelog:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["context", *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_add_use_list_show_rename_and_remove(tidelog: Tidelog, file: Path) -> None:
    assert "It is the current context." in tidelog("add", "dev", "-b", "localhost:9092")[1]
    assert tidelog("add", "prod", "-b", "p:9093", "-X", "security.protocol=SSL")[0] == Exit.OK
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert tidelog("use", "prod")[0] == Exit.OK
    listed = tidelog("list")[1].splitlines()
    assert [line.split() for line in listed[1:]] == [
        ["dev", "localhost:9092", "plaintext", "-"],
        ["*", "prod", "p:9093", "ssl", "-"],
    ]
    assert "p:9093" in tidelog("show")[1]
    assert tidelog("rename", "prod", "live")[0] == Exit.OK
    assert json.loads(tidelog("show", "--json")[1]) == {
        "name": "live",
        "current": True,
        "properties": {"bootstrap.servers": "p:9093", "security.protocol": "SSL"},
    }
    assert tidelog("remove", "live")[0] == Exit.OK
    assert tidelog("show")[0] == Exit.NOT_FOUND, "no context is current"
    assert [found["name"] for found in json.loads(tidelog("list", "--json")[1])] == ["dev"]


def test_refusals(tidelog: Tidelog, file: Path) -> None:
    assert tidelog("add", "dev", "-b", "localhost:9092")[0] == Exit.OK
    assert tidelog("add", "dev", "-b", "localhost:9092")[0] == Exit.EXISTS
    assert tidelog("add", "dev", "-b", "localhost:9093", "--replace")[0] == Exit.OK
    assert "needs the address" in tidelog("add", "b")[2]
    assert "security.protocol is TLS" in tidelog("add", "b", "-b", "a:1", "-X", "security.protocol=tls")[2]
    assert "DIGEST is not supported" in tidelog("add", "b", "-b", "a:1", "-X", "sasl.mechanism=digest")[2]
    assert "is not HOST:PORT" in tidelog("add", "b", "-b", "a:b:c")[2]
    assert tidelog("use", "b")[0] == Exit.NOT_FOUND
    assert tidelog("rename", "dev", "dev")[0] == Exit.EXISTS


def test_secrets_are_never_shown(tidelog: Tidelog) -> None:
    pairs = [
        *("-X", "sasl.username=ann", "-X", "sasl.password=hunter2", "-X", "ssl.key.password=${env:KEY}"),
        *("-X", "ssl.key.pem=-----BEGIN hunter2", "-X", "sasl.oauthbearer.client.secret=${env:A:-hunter2}"),
    ]
    said = tidelog("add", "prod", "-b", "p:1", *pairs)
    shown = [said, tidelog("show"), tidelog("show", "--json"), tidelog("list"), tidelog("list", "--json")]
    assert "hunter2" not in str(shown)
    assert "sasl.password is in the file as it is" in said[2]
    assert "${env:KEY}" in shown[1][1], "a variable is no secret"
    assert "ann" in shown[3][1]


def test_a_java_client_s_properties_are_imported(tidelog: Tidelog, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    (tmp_path / "client.properties").write_text(JAVA)
    code, _, notes = tidelog("add", "prod", "--from", str(tmp_path / "client.properties"))
    assert code == Exit.OK
    assert "key.serializer" in notes
    found = json.loads(tidelog("show", "prod", "--json")[1])["properties"]
    assert found == {
        "bootstrap.servers": "a:9093",
        "sasl.jaas.config": "********",
        "sasl.mechanism": "SCRAM-SHA-512",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
    }
    (tmp_path / "bad.properties").write_text("a=1\nhunter2\n")
    refusal = tidelog("add", "b", "--from", str(tmp_path / "bad.properties"))[2]
    assert "line 2: is not NAME=VALUE" in refusal
    assert "hunter2" not in refusal


def test_paths_count_from_the_directory_where_a_context_is_added(
    tidelog: Tidelog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").touch()
    tidelog("add", "a", "-b", "a:1", "-X", "ssl.ca.location=ca.pem", "-X", "sasl.password=${file:pw}")
    found = json.loads(tidelog("show", "a", "--json")[1])["properties"]
    assert found["ssl.ca.location"] == str(tmp_path / "ca.pem")
    assert found["sasl.password"] == f"${{file:{tmp_path}/pw}}"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_is_refused(tidelog: Tidelog, file: Path, mode: int) -> None:
    tidelog("add", "dev", "-b", "localhost:9092")
    file.chmod(mode)
    code, _, said = tidelog("list")
    assert code == Exit.DENIED
    assert f"chmod 600 {file}" in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- a", "line 1: names with values are wanted"),
        ("contexts:\n  a: {b: [c]}", "line 2: b must have one value"),
        ("hunter2: [", "is not YAML"),
        ("context: {}", "'context' is neither current nor contexts"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(
    tidelog: Tidelog, file: Path, text: str, reason: str
) -> None:
    tidelog("add", "dev", "-b", "localhost:9092")
    file.write_text(text)
    code, _, said = tidelog("list")
    assert code == Exit.USAGE
    assert reason in said
    assert "hunter2" not in said


def test_changes_by_many_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "tidelog" / "contexts.yaml"
    begin = Barrier(4)

    def add(number: int) -> None:
        begin.wait()
        for each in range(5):
            with changed_contexts(path) as contexts:
                contexts.by_name[f"{number}-{each}"] = SavedContext({SERVERS: "h:1"})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(4)))
    assert len(read_contexts(path).by_name) == 20
    with pytest.raises(CliError, match="no context 'none'"), changed_contexts(path) as contexts:
        contexts.of(contexts.by_name.popitem()[0] and "none")  # a change that fails is no change
    assert len(read_contexts(path).by_name) == 20


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contexts.yaml"
    path.write_text("contexts:\n  ? [a, b]\n  : {}\n")
    path.chmod(0o600)
    with pytest.raises(CliError, match="line 2: a name must be a text"):
        read_contexts(path)
