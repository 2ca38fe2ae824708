"""Avro schemas as Confluent's own AvroSchema has them: canonical, normalized, resolved, and compared.

All questions go to one JVM.
"""

import re
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Sequence

import pytest

from tests.interop.registry import avro_samples
from tests.interop.registry.programs import PATIENCE_S, PROGRAMS, java_program
from tidelog.registry.avro.parsing import check_new, parse
from tidelog.registry.parsed import READER, WRITER, SchemaError
from tidelog.registry.schema import Dependency

ERROR = ["error"]
Question = tuple[str, str, Sequence[str]]
"""A schema, that of a writer or none, and what the first refers to."""

QUESTIONS: list[Question] = [
    *((schema, "", ()) for schema in avro_samples.SCHEMAS),
    *((schema, "", ()) for schema in avro_samples.NOT_SCHEMAS),
    *((schema, "", references) for schema, references in avro_samples.REFERRING),
    *((reader, writer, ()) for reader, writer in avro_samples.pairs(1000, seed=20_201)),
]


def confluent(questions: list[Question]) -> list[list[str]]:
    lines = (
        "\t".join(b64encode(text.encode()).decode() for text in (schema, writer, *references))
        for schema, writer, references in questions
    )
    done = subprocess.run(
        java_program("AvroJudge"),
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(questions), done.stderr
    return [
        ERROR if line == "error" else [b64decode(text).decode() for text in line.split("\t")]
        for line in answers
    ]


def tidelog(question: Question) -> list[str]:
    text, writer, references = question
    try:
        schema = parse(text, [Dependency(str(number), one) for number, one in enumerate(references)])
        check_new(schema)
    except SchemaError:
        return ERROR
    found = schema.incompatibilities(parse(writer)) if writer else []
    sentences = (
        f"{{errorType:'{one.kind}', description:'{one.description}', additionalInfo:'{one.info}'}}"
        for one in found
    )
    return [
        schema.text,
        schema.normalized().text,
        schema.formatted("resolved"),
        *(sentence.replace(READER, "%s").replace(WRITER, "%s") for sentence in sentences),
    ]


def without_paths(texts: list[str]) -> list[str]:
    return [re.sub(r"path '[^']*'", "path", text) for text in texts]


@pytest.mark.skipif(PROGRAMS["java"].missing() is not None, reason="Java is not installed")
def test_schemas_are_what_they_are_for_confluent() -> None:
    expected = confluent(QUESTIONS)
    compared = [
        (question, theirs)
        for question, theirs in zip(QUESTIONS, expected, strict=True)
        if not any("matches multiple fields" in text for text in theirs)  # where Java gives up
    ]
    answers = [(question, theirs, tidelog(question)) for question, theirs in compared]
    assert [one for one in answers if without_paths(one[1]) != without_paths(one[2])] == []
    other_paths = sum(theirs != ours for _, theirs, ours in answers)
    assert other_paths < len(answers) / 200, "a type in several places: Java names the one that it saw first"
    assert sum(theirs == ERROR for _, theirs in compared) == len(avro_samples.NOT_SCHEMAS)
    assert sum(len(theirs) > 3 for _, theirs in compared) > 200, "pairs that differ"
    assert sum(len(theirs) == 3 for _, theirs in compared) > 200, "and pairs that do not"
