"""Certificates for tests, in files as users have them: an authority, and what it has issued."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidelog.security.tls.authority import Authority

LOCAL = ("localhost", "127.0.0.1")


class CertificateFiles:
    """`ca.pem` and `<name>.pem` with key and certificate, in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = Authority.new("Test CA", datetime.now(UTC))
        directory.mkdir(parents=True, exist_ok=True)
        self.trusted = str(directory / "ca.pem")
        Path(self.trusted).write_bytes(self.authority.pem.certificate)

    def issue(
        self,
        name: str,
        *,
        days: float = 30,
        organization: str | None = None,
        authority: Authority | None = None,
        path: str | None = None,
    ) -> str:
        """The path of a PEM file with a key and its certificate. Negative `days`: it has expired."""
        # What has expired was issued before that.
        now = datetime.now(UTC) - (timedelta(days=1 - days) if days < 0 else timedelta())
        issuer = authority or self.authority
        issued = issuer.issue(name, now, hosts=LOCAL, organization=organization, days=1 if days < 0 else days)
        file = Path(path) if path is not None else self.directory / f"{name}.pem"
        fresh = file.with_suffix(".new")
        fresh.write_bytes(issued.key + issued.certificate)
        fresh.rename(file)  # as tools that renew certificates do
        return str(file)

    def settings(self, keystore: str, **others: str) -> dict[str, str]:
        """Broker settings; keywords have underscores for dots."""
        named = {name.replace("_", "."): value for name, value in others.items()}
        return {"ssl.keystore.location": keystore, "ssl.truststore.location": self.trusted, **named}
