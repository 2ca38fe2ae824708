"""A file and its imports become descriptors in a pool, where Protobuf's own library checks them.

The library finds what the form of a text does not show: two fields with one number, an enum without a zero,
a name declared twice, files that import each other in a circle.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.descriptor_options import write_custom
from tidelog.registry.protobuf.descriptor_writing import Written, write_descriptor
from tidelog.registry.protobuf.elements import File
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.well_known import known_file, known_names, library_descriptor

SCHEMA = ""
"""The path of the schema itself among its files."""


class Linked:
    """`pool` holds every file; `descriptors` are in an order in which a pool takes them, the schema last."""

    def __init__(self, schema: File, dependencies: Mapping[str, File]) -> None:
        self.names = names_of(schema, dependencies)
        self.pool: Any = descriptor_pool.DescriptorPool()
        self._files: dict[str, File] = {**dependencies, SCHEMA: schema}
        self._name = "default"  # of the schema's descriptor, as with Confluent
        while self._name in dependencies:
            self._name += "_"
        self._written: dict[str, Written] = {}
        self.descriptors: list[Any] = []
        self._link()

    def _link(self) -> None:
        """Adds files after those that they import, without recursion: a chain of imports may be long."""
        open_paths: set[str] = set()
        done: set[str] = set()
        waiting = [SCHEMA]
        while waiting:
            path = waiting[-1]
            if path in done:
                waiting.pop()
            elif path in open_paths:  # all that it imports is in the pool
                open_paths.remove(path)
                done.add(path)
                self._add(path)
            else:
                open_paths.add(path)
                wanted = self._wanted(path)
                if circle := open_paths.intersection(wanted):
                    raise SchemaError(_in_a_circle(path, min(circle)))
                waiting += wanted

    def _wanted(self, path: str) -> list[str]:
        """Writes the descriptor of a file, and returns what must be in the pool before it."""
        if path not in self._files and (library := library_descriptor(path)):
            written = Written(path)
            written.descriptor = descriptor_pb2.FileDescriptorProto.FromString(library)
        else:
            file = self._file(path)
            imports = [wanted for wanted in file.every_import if self._knows(wanted)]
            written = write_descriptor(path or self._name, file, self.names, imports)
            forgotten = written.used - {path, *imports} - self._public(imports)
            written.descriptor.dependency.extend(sorted(wanted or self._name for wanted in forgotten))
        self._written[path] = written
        return [SCHEMA if name == self._name else name for name in written.descriptor.dependency]

    def _file(self, path: str) -> File:
        file = self._files.get(path) or known_file(path)
        assert file is not None  # only files that are known are asked for
        return file

    def _knows(self, path: str) -> bool:
        return path in self._files or known_file(path) is not None

    def _public(self, imports: list[str]) -> set[str]:
        """Returns the files that come along with imports."""
        found: set[str] = set()
        waiting = list(imports)
        while waiting:
            for path in self._file(waiting.pop()).public_imports:
                if path not in found and self._knows(path):
                    found.add(path)
                    waiting.append(path)
        return found

    def _add(self, path: str) -> None:
        descriptor = self._written[path].descriptor
        try:
            self.pool.AddSerializedFile(descriptor.SerializeToString())
        except (TypeError, ValueError, KeyError) as error:
            what = (
                str(error)[:400].removeprefix("Couldn't build proto file into descriptor pool: ").rstrip(".")
            )
            where = f"The file '{path}' does" if path else "The declarations of the schema do"
            raise SchemaError(f"{where} not fit together: {what}.") from None
        self.descriptors.append(descriptor)

    def with_custom_options(self) -> list[Any]:
        """Returns the descriptors with the custom options whose extensions are known."""
        for written in self._written.values():
            for options, target, scope in written.custom:
                write_custom(options, target.options, self.pool, self.names, scope)
        return self.descriptors


def _in_a_circle(path: str, other: str) -> str:
    first, second = (f"'{name}'" if name else "the schema itself" for name in (path, other))
    return f"Files import each other in a circle: {first} leads back to {second}."


def names_of(schema: File, dependencies: Mapping[str, File]) -> Names:
    """Returns the names that a schema may use: of its dependencies, of well-known files, and its own."""
    paths = [path for path in _imported(schema, dependencies) if path not in dependencies]
    known = [(path, file) for path in paths if (file := known_file(path))]
    return Names([*known, *dependencies.items(), (SCHEMA, schema)], known_names)


def _imported(schema: File, dependencies: Mapping[str, File]) -> list[str]:
    found: dict[str, None] = {}
    waiting = [schema, *dependencies.values()]
    while waiting:
        for path in waiting.pop().every_import:
            if path not in found:
                found[path] = None
                if path not in dependencies and (file := known_file(path)):
                    waiting.append(file)
    return list(found)


def extension_pool(serialized: bytes, dependencies: Mapping[str, File]) -> Any:
    """Returns a pool that knows the extensions of a descriptor, its imports, and Confluent's own file."""
    descriptor = descriptor_pb2.FileDescriptorProto.FromString(serialized)
    descriptor.name = "own"
    try:
        pool = Linked(File(imports=(*descriptor.dependency, "confluent/meta.proto")), dependencies).pool
    except SchemaError:
        return None  # what is wrong with the files, their own check says
    try:
        pool.AddSerializedFile(descriptor.SerializeToString())
    except TypeError:
        pass  # likewise
    return pool
