"""Where references lead to, in one comparison: each chain of references is followed once."""

from tidelog.registry.json_schema.shapes import Referring, Shape


class Following:
    def __init__(self) -> None:
        self._ends: dict[Shape, Shape] = {}
        self._defaults: dict[Shape, bool] = {}

    def end(self, shape: Shape) -> Shape:
        """Ends: a chain of references that leads to itself is refused when a schema is parsed."""
        chain: list[Shape] = []
        while isinstance(shape, Referring):
            known = self._ends.get(shape)
            if known is not None:
                shape = known
                break
            chain.append(shape)
            shape = shape.target()
        self._ends.update(dict.fromkeys(chain, shape))
        return shape

    def has_default(self, shape: Shape) -> bool:
        """The default may stand beside a `$ref`, or where it leads to."""
        chain: list[Shape] = []
        while isinstance(shape, Referring) and shape.notes.default is None and shape not in self._defaults:
            chain.append(shape)
            shape = shape.target()
        found = self._defaults.get(shape, shape.notes.default is not None)
        self._defaults.update(dict.fromkeys(chain, found))
        return found
