"""A directory of `tidelog security init`, made once, and commands that run in this process."""

from pathlib import Path

import pytest

from tidelog.cli.main import run


def command(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def initialized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("init") / "security"
    brokers = [text for id in (1, 2, 3) for text in ("--broker", f"{id}=kafka-{id}.example,10.0.0.{id}")]
    assert command("security", "init", *brokers, "--directory", directory, "--install-dir", "/etc/t") == 0
    return directory
