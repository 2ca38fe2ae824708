"""The query of a call. Confluent's server takes any other text than "true" as false, and so does this one."""

from urllib.parse import parse_qs

from tidelog.registry.errors import RegistryCode, RegistryError

FIELDS_MAX = 100
INT_MAX = 2**31 - 1


class Query:
    def __init__(self, text: str) -> None:
        try:
            found = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
        except ValueError:  # too many, or not UTF-8
            raise RegistryError(
                RegistryCode.BAD_REQUEST,
                f"HTTP 400 Bad Request: the query is not UTF-8, or has more than {FIELDS_MAX} parameters.",
            ) from None
        self._values: dict[str, list[str]] = found

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def text(self, name: str) -> str:
        """Returns "" for a parameter that is missing."""
        return self._values.get(name, [""])[0]

    def given(self, name: str) -> str | None:
        return self._values.get(name, [None])[0]

    def texts(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def number(self, name: str, default: int) -> int:
        text = self._values.get(name, [""])[0]
        return integer(text) if text else default


def integer(text: str) -> int:
    """A 32-bit number; anything else is a path that does not exist, as JAX-RS has it."""
    digits = text.removeprefix("-") if text.isascii() else ""
    if digits.isdecimal() and len(digits) <= 10 and -INT_MAX - 1 <= int(text) <= INT_MAX:
        return int(text)
    raise RegistryError(
        RegistryCode.NOT_FOUND, "HTTP 404 Not Found: a number is expected here, of 32 bits at most."
    )
