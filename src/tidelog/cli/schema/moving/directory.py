"""An export as a directory: a file for each schema, and `manifest.json`, which says what they are.

subjects/orders-value/1.avsc   the text as the registry has it
manifest.json                  {"format": 1, "source": URL, "config": …, "mode": …, "subjects": [
                                 {"subject": …, "config": …, "mode": …, "versions": [
                                   {"version": 1, "id": 17, "type": "AVRO", "file": …, "references": […]}]}]}
"""

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.files import SUFFIXES
from tidelog.cli.schema.moving.exported import Exported, ExportedSubject, ExportedVersion, Place
from tidelog.registry.schema import Reference, Schema, SchemaType

MANIFEST = "manifest.json"
FORMAT = 1
NAME_CHARACTERS_MAX = 150
"""Of a directory; file systems take 255 bytes."""


def write_directory(exported: Exported, directory: Path) -> int:
    """Returns the number of files. Raises CliError."""
    files = 0
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for one in exported.versions():
            path = directory / file_of(one)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one.schema.text, encoding="utf-8")
            files += 1
        # The last file: a directory without it is no export.
        text = json.dumps(manifest_of(exported), indent=2, ensure_ascii=False)
        (directory / MANIFEST).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CliError(f"{error.filename} cannot be written: {error.strerror}.") from error
    return files


def file_of(one: ExportedVersion) -> str:
    return f"subjects/{directory_name(one.place.subject)}/{one.place.version}{SUFFIXES[one.schema.type]}"


def directory_name(subject: str) -> str:
    """A name for any subject, whatever is in it; short, and different for different subjects."""
    quoted = quote(subject, safe=" @+=,") or "%"
    if quoted.startswith("."):
        quoted = f"%2E{quoted[1:]}"
    if len(quoted) > NAME_CHARACTERS_MAX:
        digest = hashlib.sha256(subject.encode()).hexdigest()[:16]
        quoted = f"{quoted[:NAME_CHARACTERS_MAX]}~{digest}"
    return quoted


def manifest_of(exported: Exported) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "source": exported.source,
        "config": exported.config,
        "mode": exported.mode,
        "subjects": [
            {
                "subject": subject.name,
                "config": subject.config,
                "mode": subject.mode,
                "versions": [_version(one) for one in subject.versions],
            }
            for subject in exported.subjects
        ],
    }


def _version(one: ExportedVersion) -> dict[str, Any]:
    made: dict[str, Any] = {
        "version": one.place.version,
        "id": one.id,
        "type": one.schema.type.value,
        "file": file_of(one),
    }
    if one.schema.references:
        made["references"] = [reference._asdict() for reference in one.schema.references]
    if one.schema.metadata is not None:
        made["metadata"] = one.schema.metadata
    if one.schema.rule_set is not None:
        made["ruleSet"] = one.schema.rule_set
    if one.is_deleted:
        made["deleted"] = True
    return made


def read_directory(directory: Path) -> Exported:
    """Raises CliError."""
    path = directory / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise CliError(
                f"{path} has format {manifest['format']}, and this version reads {FORMAT}.",
                attempt="a newer version of tidelog",
                code=Exit.REFUSED,
            )
        subjects = tuple(
            ExportedSubject(
                subject["subject"],
                tuple(_read_version(directory, subject["subject"], one) for one in subject["versions"]),
                subject.get("config"),
                subject.get("mode"),
            )
            for subject in manifest["subjects"]
        )
        return Exported(str(directory), subjects, manifest.get("config"), manifest.get("mode"))
    except OSError as error:
        raise CliError(
            f"{error.filename} cannot be read: {error.strerror}.",
            cause="the directory holds no export." if error.filename == str(path) else None,
            attempt="tidelog schema export DIRECTORY",
            code=Exit.NOT_FOUND,
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CliError(f"{path} is no manifest of an export: {error!r}.", code=Exit.REFUSED) from error


def _read_version(directory: Path, subject: str, one: dict[str, Any]) -> ExportedVersion:
    file = (directory / one["file"]).resolve()
    if not file.is_relative_to(directory.resolve()):
        raise ValueError(f"{one['file']} is outside of the directory")
    references = tuple(
        Reference(str(each["name"]), str(each["subject"]), int(each["version"]))
        for each in one.get("references") or ()
    )
    text = file.read_text(encoding="utf-8")
    schema = Schema(SchemaType(one["type"]), text, references, one.get("metadata"), one.get("ruleSet"))
    place = Place(str(subject), int(one["version"]))
    return ExportedVersion(place, int(one["id"]), schema, bool(one.get("deleted")))
