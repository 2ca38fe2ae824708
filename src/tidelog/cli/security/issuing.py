"""Certificates from the authority of a security directory: made, issued, and issued again before they end."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.security.files import SecurityFiles, make_private_directory, read_private, write_private
from tidelog.security.tls.authority import CERTIFICATE_DAYS, Authority
from tidelog.security.tls.material import InvalidTls

NO_EXTRA = "pip install 'tidelog[secure]'"


def now() -> datetime:
    return datetime.now(UTC)


def new_authority(files: SecurityFiles) -> Authority:
    if files.exist:
        raise CliError(
            f"{files.path} holds an authority already.",
            cause="a new one would make every certificate of the cluster useless.",
            attempt=f"tidelog security cert issue --directory {files.path}, for further certificates; or "
            "another directory",
            code=Exit.EXISTS,
        )
    make_private_directory(files.path)
    try:
        authority = Authority.new("Tidelog authority", now())
    except (InvalidTls, ImportError) as error:
        raise without_cryptography() from error
    pair = authority.pem
    write_private(files.ca_key, pair.key)
    write_private(files.ca, pair.certificate)  # the last: with it the authority counts as made
    return authority


def open_authority(files: SecurityFiles) -> Authority:
    if not files.exist:
        raise CliError(
            f"{files.path} holds no authority ({files.ca.name}).",
            attempt="tidelog security init; or --directory DIR, the one that it was run with",
            code=Exit.NOT_FOUND,
        )
    try:
        return Authority.load(read_private(files.ca_key), read_private(files.ca))
    except ImportError as error:
        raise without_cryptography() from error
    except InvalidTls as error:
        raise CliError(f"{files.path}: {error}.") from error


def issue(
    files: SecurityFiles,
    authority: Authority,
    name: str,
    hosts: Sequence[str] = (),
    days: float = CERTIFICATE_DAYS,
) -> Path:
    """A key and its certificate in one file, for a broker with hosts or for a client without."""
    issued = authority.issue(name, now(), hosts=list(dict.fromkeys(hosts)), days=days)
    path = files.certificate(name)
    write_private(path, issued.key + issued.certificate)
    return path


def without_cryptography() -> CliError:
    return CliError(
        "Certificates cannot be made: the Python package 'cryptography' is missing.",
        cause="Tidelog was installed without its extra for security.",
        attempt=NO_EXTRA,
    )
