"""Objects of an application as the plain values of a codec, and back: dataclasses, pydantic models, dicts."""

import dataclasses
from collections.abc import Callable
from typing import Any


def plain(value: Any, *, for_json: bool = False) -> Any:
    """A dict for a dataclass or a pydantic model; everything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json" if for_json else "python")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value


def maker_of(kind: Any) -> Callable[[Any], Any]:
    """A function from a plain value to an object: of a pydantic model, another type, or by a function."""
    if kind is None:
        return _as_it_is
    if hasattr(kind, "model_validate"):
        return kind.model_validate  # type: ignore[no-any-return]
    if not isinstance(kind, type):
        return kind  # type: ignore[no-any-return]
    import msgspec

    def make(value: Any) -> Any:
        return msgspec.convert(value, kind, strict=False)

    return make


def _as_it_is(value: Any) -> Any:
    return value
