"""What can be checked once every name of a schema stands for its type."""

from tidelog.registry.avro.reading import Reader
from tidelog.registry.avro.types import full_name
from tidelog.registry.avro.writing import Writer
from tidelog.registry.parsed import SchemaError


def check_unions(reader: Reader) -> None:
    """A value says by a name which branch it is of: so each has a name of its own."""
    for union in reader.unions:
        seen = set()
        for branch in union.branches:
            if (name := full_name(branch)) in seen:
                raise SchemaError(f'A union has the type "{name}" twice. Remove the second.')
            seen.add(name)


def check_repeated(reader: Reader) -> None:
    """A second definition of a name may only repeat the first."""
    writer = Writer(reader.names)
    for first, second in reader.repeated:
        if writer.definition(first) != writer.definition(second):
            raise SchemaError(
                f'The type "{first.name.full}" is defined twice, and differently. Define it once, and refer '
                "to it by its name."
            )
