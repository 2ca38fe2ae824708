"""What a caller of the registry's client has to expect.

TidelogError
  RegistryUnavailable   no registry answered, or each that answered is out of order; a retry may help
  RegistryRefused       the registry answered with an error of Confluent's kind: `status`, `code`
  NotARegistry          something answered, but not as a registry does; the URL leads elsewhere
  UndecodableRecord     the bytes of a record do not fit what its schema says, or have no schema at all
  UnencodableValue      a value does not fit the schema that it is to be written with
  PackageMissing        Avro or Protobuf needs a package that is not installed
"""

from tidelog.base.errors import TidelogError


class RegistryUnavailable(TidelogError):
    """No registry answered, or each that answered is out of order."""


class RegistryRefused(TidelogError):
    """The registry answered with an error."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(f"the schema registry answered {code}: {message}")
        self.status = status
        self.code = code
        """Confluent's code, such as 40401; the status where the answer has none."""
        self.message = message
        """The registry's own words."""

    @property
    def is_not_found(self) -> bool:
        """Whether a subject, a version or a schema is not there: 40401 and the like. A plain 404 says that
        the path is none of a registry's."""
        return self.status == 404 and self.code != 404

    @property
    def is_other_path(self) -> bool:
        return self.code == 404

    @property
    def is_denied(self) -> bool:
        return self.status in (401, 403)

    @property
    def is_incompatible(self) -> bool:
        return self.status == 409


class NotARegistry(TidelogError):
    """An answer that no registry gives."""


class UndecodableRecord(TidelogError):
    """A key or value that cannot be decoded; the message is the reason, without the place."""


class UnencodableValue(TidelogError):
    """A value that does not fit its schema; the message is the reason."""


class PackageMissing(TidelogError):
    """A package that reads or writes a kind of schema is not installed."""

    def __init__(self, kind: str, package: str) -> None:
        super().__init__(
            f"{kind} needs the package {package}, which is not installed; pip install 'tidelog[schemas]'"
        )
        self.package = package
