"""Writes dist/tidelog.pyz: Tidelog and all it depends on in one file, for hosts with Python but without pip.

    python -m tools.zipapp [--find-links DIR] [--output FILE]

Compiled modules cannot be imported out of a zip, so the file unpacks itself once into a cache of the user
(`zipapp_main.py`). They also bind it to the Python version, system and processor that it was made on.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOOTSTRAP = Path(__file__).parent / "zipapp_main.py"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip can say: the same sources make the same bytes


def build(output: Path, pip_options: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        site = Path(directory)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
        ]
        subprocess.run([*pip, *pip_options, "--target", site, ROOT], check=True)
        files = [path for path in sorted(site.rglob("*")) if path.is_file() and _is_wanted(path, site)]
        write(output, {path.relative_to(site).as_posix(): path.read_bytes() for path in files})


def write(output: Path, files: dict[str, bytes]) -> None:
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    facts = {
        "digest": digest.hexdigest()[:32],
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "platform": sysconfig.get_platform(),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, "__main__.py", BOOTSTRAP.read_bytes())
            _add(archive, "facts.json", json.dumps(facts).encode())
            for name, content in files.items():
                _add(archive, f"site/{name}", content)
    output.chmod(0o755)


def _is_wanted(path: Path, site: Path) -> bool:
    name = path.relative_to(site).as_posix()
    # RECORD and direct_url.json name this machine's paths.
    return not name.startswith("bin/") and path.name not in ("RECORD", "direct_url.json", ".lock")


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write Tidelog as one file.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "tidelog.pyz")
    parser.add_argument("--find-links", help="a directory of wheels, in place of the package index")
    given = parser.parse_args()
    build(given.output, ["--no-index", "--find-links", given.find_links] if given.find_links else [])
    megabytes = given.output.stat().st_size / 1e6
    sys.stdout.write(f"wrote {given.output}, {megabytes:.0f} MB\n")


if __name__ == "__main__":
    main()
