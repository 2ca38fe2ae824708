"""Confluent's sentences on what hinders a reader, word by word: clients and people search for them."""

from tidelog.registry.avro.comparing import Difference
from tidelog.registry.parsed import READER, WRITER, Incompatibility


def incompatibility(difference: Difference) -> Incompatibility:
    return Incompatibility(difference.kind, _sentence(difference), difference.message)


def _sentence(difference: Difference) -> str:
    path = difference.path
    match difference.kind:
        case "FIXED_SIZE_MISMATCH":
            return (
                f"The size of FIXED type field at path '{path}' in the {READER} schema does not match with "
                f"the {WRITER} schema"
            )
        case "TYPE_MISMATCH":
            return (
                f"The type (path '{path}') of a field in the {READER} schema does not match with the "
                f"{WRITER} schema"
            )
        case "NAME_MISMATCH":
            return f"The name of the schema has changed (path '{path}')"
        case "MISSING_ENUM_SYMBOLS":
            return (
                f"The {READER} schema is missing enum symbols '{difference.message}' at path '{path}' in the "
                f"{WRITER} schema"
            )
        case "MISSING_UNION_BRANCH":
            return (
                f"The {READER} schema is missing a type inside a union field at path '{path}' in the "
                f"{WRITER} schema"
            )
        case "READER_FIELD_AMBIGUOUS":
            return (
                f"{difference.message} (path '{path}' in the {READER} schema): remove an alias of the field"
            )
        case _:
            return (
                f"The field '{difference.message}' at path '{path}' in the {READER} schema has no default "
                f"value and is missing in the {WRITER} schema"
            )
