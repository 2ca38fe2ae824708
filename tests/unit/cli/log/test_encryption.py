"""`tidelog log new-key` and its siblings on an installation without the extra for security."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("command", ["new-key", "rekey"])
def test_without_cryptography_the_error_says_what_to_install(command: str, tmp_path: Path) -> None:
    (tmp_path / "encryption.keys").write_bytes(b"")
    code = (
        "import sys; sys.modules['cryptography'] = None; from tidelog.cli.main import run; "
        f"sys.exit(run(['log', {command!r}, {str(tmp_path if command == 'rekey' else tmp_path / 'k')!r}]"
        f" + (['--key-file', 'k'] if {command!r} == 'rekey' else [])))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'tidelog[secure]'" in done.stderr
    assert "Traceback" not in done.stderr
