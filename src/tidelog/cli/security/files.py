"""The directory with a cluster's authority, keys and client files: each readable by its owner alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from tidelog.base.full_sync import sync_fd
from tidelog.cli.exits import CliError, Exit

DIRECTORY = "security"
PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700


@dataclass(frozen=True, slots=True)
class SecurityFiles:
    path: Path

    @property
    def ca(self) -> Path:
        """The certificate that clients trust; not a secret."""
        return self.path / "ca.pem"

    @property
    def ca_key(self) -> Path:
        """The holder of this key can be every broker, and every user with a certificate."""
        return self.path / "ca.key"

    @property
    def token_key(self) -> Path:
        """The secret of delegation tokens, the same on all brokers."""
        return self.path / "token.key"

    @property
    def client(self) -> Path:
        return self.path / "client.properties"

    @property
    def java_client(self) -> Path:
        return self.path / "client-java.properties"

    @property
    def spark_options(self) -> Path:
        return self.path / "spark-options.yaml"

    def certificate(self, name: str) -> Path:
        """A key with its certificates, as `ssl.keystore.location` takes them."""
        return self.path / f"{name}.pem"

    def certificates(self) -> list[Path]:
        """Of brokers and clients, without the authority's."""
        return sorted(path for path in self.path.glob("*.pem") if path != self.ca)

    @property
    def exist(self) -> bool:
        return self.ca.exists()


def broker_name(id: int | str) -> str:
    """The name in a broker's certificate, and of its principal."""
    return f"broker-{id}"


def checked_name(name: str) -> str:
    """The name of a client's certificate: it becomes the name of a file, and a principal."""
    if not name or not all(letter.isalnum() or letter in "._-@" for letter in name) or name.startswith("."):
        raise CliError(
            f"'{name}' cannot be the name in a certificate.",
            cause="it may hold letters, digits, dots, - _ and @.",
            code=Exit.USAGE,
        )
    if name == "ca" or name.startswith(broker_name("")):
        raise CliError(
            f"'{name}' cannot be a client's name: it belongs to the authority or to a broker.",
            cause="brokers are super users.",
            attempt="another name; or --broker ID --host HOST, for a broker",
            code=Exit.USAGE,
        )
    return name


def make_private_directory(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        path.chmod(PRIVATE_DIRECTORY)
    except OSError as error:
        raise CliError(f"Cannot make {path}: {error.strerror}.", attempt="another directory") from error


def write_private(path: Path, data: bytes) -> None:
    """Replaces the file in one step; at no moment can other users of the machine read it."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            sync_fd(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise CliError(f"Cannot write {path}: {error.strerror}.") from error


def read_private(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CliError(f"Cannot read {path}: {error.strerror}.") from error
