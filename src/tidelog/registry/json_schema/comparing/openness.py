"""Content models: what may stand beside an object's named properties, or after an array's listed items.

Open: anything. Partially open: what a schema allows. Closed: nothing.
"""

from tidelog.registry.json_schema.comparing.findings import Comparing, Findings
from tidelog.registry.json_schema.shapes import Anything, Nothing, Part, Rest


def is_open(rest: Rest) -> bool:
    if not rest.is_allowed or rest.part is not None:
        return False
    return rest.unevaluated is None or isinstance(rest.unevaluated(), Anything)


def allowed_by(rest: Rest) -> Part | None:
    """Returns the schema that a partially open model has for a further property or item; None without one."""
    if rest.part is not None or not rest.is_allowed or rest.unevaluated is None:
        return rest.part
    return None if isinstance(rest.unevaluated(), Anything | Nothing) else rest.unevaluated


def compare_rests(original: Rest, update: Rest, what: str, found: Findings) -> Comparing:
    """`what` is Properties or Items, as in `additionalProperties`."""
    name, path = f"ADDITIONAL_{what.upper()}", f"additional{what}"
    if original.is_allowed != update.is_allowed:
        found.add(f"{name}_ADDED" if update.is_allowed else f"{name}_REMOVED", path)
    elif original.part is not None and update.part is not None:
        found.include((yield original.part(), update.part()), path)
    elif original.part is not None or update.part is not None:
        found.add(f"{name}_NARROWED" if original.part is None else f"{name}_EXTENDED", path)
    yield from _compare_unevaluated(original.unevaluated, update.unevaluated, what, found)


def _compare_unevaluated(original: Part | None, update: Part | None, what: str, found: Findings) -> Comparing:
    name, path = f"UNEVALUATED_{what.upper()}", f"unevaluated{what}"
    before = Anything() if original is None else original()
    after = Anything() if update is None else update()
    closed = isinstance(before, Nothing), isinstance(after, Nothing)
    opened = isinstance(before, Anything), isinstance(after, Anything)
    if original is None and update is None:
        return
    if closed[0] != closed[1]:
        found.add(f"{name}_ADDED" if closed[0] else f"{name}_REMOVED", path)
    elif opened[0] != opened[1]:
        found.add(f"{name}_NARROWED" if opened[0] else f"{name}_EXTENDED", path)
    else:
        found.include((yield before, after), path)
