"""The records of `_schemas`, as Confluent's registry writes them: keys and values are JSON.

    {"keytype":"SCHEMA","subject":S,"version":V,"magic":1}    a version: its id, its schema, if it is deleted
    {"keytype":"CONFIG","subject":S,"magic":0}                settings of a subject, a context, or all (no S)
    {"keytype":"MODE","subject":S,"magic":0}                  likewise a mode
    {"keytype":"DELETE_SUBJECT","subject":S,"magic":0}        every version up to one is soft-deleted
    {"keytype":"CLEAR_SUBJECT","subject":S,"magic":0}         what is soft-deleted is gone
    {"keytype":"CONTEXT","tenant":T,"context":C,"magic":0}    a context exists
    {"keytype":"NOOP","magic":0}                              nothing

Compaction and tombstones compare keys as bytes, so keys are written byte for byte as Confluent writes them:
where one older than 6.2 has "subject":null, later ones have no subject.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from tidelog.coordination.decision import StateRecord
from tidelog.registry import config as settings
from tidelog.registry.content import content_hash
from tidelog.registry.mode import Mode
from tidelog.registry.schema import Reference, Schema, SchemaType
from tidelog.registry.state.stored import Place, StoredVersion

TENANT = "default"
INT_MAX = 2**31 - 1

HIGHEST_IDS_KEY = b'{"magic":0,"keytype":"NOOP"}'
"""Our own record: the highest id that each context has given. It keeps ids from being given twice once the
schemas that had them are deleted and compacted. Confluent's registry skips it as a NOOP; its own NOOPs have
their fields in the other order, so that compaction does not take them for this record."""


class SchemaKey(NamedTuple):
    subject: str
    version: int


class ConfigKey(NamedTuple):
    scope: str | None


class ModeKey(NamedTuple):
    scope: str | None


class DeleteSubjectKey(NamedTuple):
    subject: str


class ClearSubjectKey(NamedTuple):
    scope: str | None


class ContextKey(NamedTuple):
    tenant: str
    context: str


class HighestIdsKey(NamedTuple):
    pass


Key: TypeAlias = (
    SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey | HighestIdsKey
)


class UnreadableError(Exception):
    """A record of another kind, or of another registry, that says nothing to this one."""


# Keys


def decode_key(key: bytes) -> Key | None:
    """Returns None for a record without effect. UnreadableError: no key of this format."""
    if key == HIGHEST_IDS_KEY:
        return HighestIdsKey()
    fields = _object(key)
    match fields.get("keytype"):
        case "SCHEMA":
            return SchemaKey(_text(fields, "subject"), _number(fields, "version", 1))
        case "CONFIG":
            return ConfigKey(_scope(fields))
        case "MODE":
            return ModeKey(_scope(fields))
        case "DELETE_SUBJECT":
            return DeleteSubjectKey(_text(fields, "subject"))
        case "CLEAR_SUBJECT":
            return ClearSubjectKey(_scope(fields))
        case "CONTEXT":
            return ContextKey(fields.get("tenant") or TENANT, _text(fields, "context"))
        case "NOOP":
            return None
        case kind:
            raise UnreadableError(f"the key type {str(kind)[:50]!r} is unknown")


def encode_key(key: Key) -> bytes:
    match key:
        case SchemaKey(subject, version):
            return _json({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1})
        case ConfigKey(scope):
            return _scope_key("CONFIG", scope)
        case ModeKey(scope):
            return _scope_key("MODE", scope)
        case DeleteSubjectKey(subject):
            return _json({"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0})
        case ClearSubjectKey(scope):
            return _scope_key("CLEAR_SUBJECT", scope)
        case ContextKey(tenant, context):
            return _json({"keytype": "CONTEXT", "tenant": tenant, "context": context, "magic": 0})
        case HighestIdsKey():
            return HIGHEST_IDS_KEY


def _scope_key(kind: str, scope: str | None) -> bytes:
    subject = {} if scope is None else {"subject": scope}
    return _json({"keytype": kind, **subject, "magic": 0})


# Values


def decode_schema(key: SchemaKey, value: bytes) -> StoredVersion:
    fields = _object(value)
    try:
        references = tuple(
            Reference(_text(one, "name"), _text(one, "subject"), _number(one, "version", -1))
            for one in fields.get("references") or ()
        )
        schema = Schema(
            SchemaType(fields.get("schemaType") or "AVRO"),
            _text(fields, "schema"),
            references,
            fields.get("metadata"),
            fields.get("ruleSet"),
        )
        content = content_hash(schema)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UnreadableError(str(error)) from None
    deleted = bool(fields.get("deleted", False))
    return StoredVersion(key.subject, key.version, _number(fields, "id", 0), schema, deleted, content)


def id_in(value: bytes) -> int | None:
    """Returns the id of a version whose schema cannot be read; None: the id cannot be read either."""
    try:
        return _number(_object(value), "id", 0)
    except UnreadableError:
        return None


def decode_config(value: bytes) -> dict[str, Any]:
    """Settings that this registry does not know are kept; UnreadableError: one that it knows is malformed."""
    fields = _object(value)
    found = {
        name: setting for name, setting in fields.items() if name not in _NOT_SETTINGS and setting is not None
    }
    try:
        return settings.readable(found)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UnreadableError(str(error)) from None


def decode_mode(value: bytes) -> Mode:
    try:
        return Mode(_text(_object(value), "mode"))
    except ValueError as error:
        raise UnreadableError(str(error)) from None


def decode_delete_subject(value: bytes) -> int:
    """Returns the version up to which the subject's versions are soft-deleted."""
    return _number(_object(value), "version", 0)


def decode_highest_ids(value: bytes) -> dict[str, int]:
    ids = _object(value).get("highestIds")
    if not isinstance(ids, dict) or not all(isinstance(one, int) for one in ids.values()):
        raise UnreadableError("no highest ids")
    return ids


def schema_record(stored: StoredVersion, *, deleted: bool = False) -> StateRecord:
    schema = stored.schema
    fields: dict[str, Any] = {"subject": stored.subject, "version": stored.version, "id": stored.id}
    if schema.type is not SchemaType.AVRO:  # Confluent's default, which its older versions do not write
        fields["schemaType"] = schema.type
    if schema.references:
        fields["references"] = [one._asdict() for one in schema.references]
    if schema.metadata is not None:
        fields["metadata"] = schema.metadata
    if schema.rule_set is not None:
        fields["ruleSet"] = schema.rule_set
    fields |= {"schema": schema.text, "deleted": deleted}
    return StateRecord(encode_key(SchemaKey(*stored.place)), _json(fields))


def config_record(scope: str | None, config: Mapping[str, Any]) -> StateRecord:
    fields = dict(config) if scope is None else {"subject": scope, **config}
    return StateRecord(encode_key(ConfigKey(scope)), _json(fields))


def mode_record(scope: str | None, mode: Mode) -> StateRecord:
    fields = {"mode": mode} if scope is None else {"subject": scope, "mode": mode}
    return StateRecord(encode_key(ModeKey(scope)), _json(fields))


def delete_subject_record(last: Place) -> StateRecord:
    fields = {"subject": last.subject, "version": last.version}
    return StateRecord(encode_key(DeleteSubjectKey(last.subject)), _json(fields))


def context_record(context: str) -> StateRecord:
    fields = {"tenant": TENANT, "context": context}
    return StateRecord(encode_key(ContextKey(TENANT, context)), _json(fields))


def highest_ids_record(ids: Mapping[str, int]) -> StateRecord:
    return StateRecord(HIGHEST_IDS_KEY, _json({"highestIds": dict(sorted(ids.items()))}))


_NOT_SETTINGS = {"subject", "offset", "ts"}


def _json(fields: Mapping[str, Any]) -> bytes:
    """As Jackson writes it: no spaces, and text as UTF-8 without escapes."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _object(data: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise UnreadableError("no JSON object")
    return fields


def _scope(fields: Mapping[str, Any]) -> str | None:
    return None if fields.get("subject") is None else _text(fields, "subject")


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise UnreadableError(f"'{name}' is no text")
    return value


def _number(fields: Mapping[str, Any], name: str, least: int) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= INT_MAX:
        raise UnreadableError(f"'{name}' is no number from {least} to {INT_MAX}")
    return value
