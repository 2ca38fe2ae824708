"""What a pipeline's file may say, and how a mistake is answered: with its line and the right word."""

from pathlib import Path

import pytest

from tidelog.spark.pipeline.checks.sinks import sink_name
from tidelog.spark.pipeline.faults import InvalidPipeline
from tidelog.spark.pipeline.load import load_pipeline, read_spec

GOOD = """\
name: revenue
sources:
  orders:
    topic: orders
    decode: json
    schema: id STRING, amount DOUBLE, at TIMESTAMP
    watermark: {column: at, delay: 10 seconds}
steps:
  - name: totals
    sql: SELECT sum(amount) AS total FROM orders GROUP BY window(at, '1 minute')
sinks:
  - from: totals
    topic: totals
    mode: update
"""

DEAD_LETTERS = "\n    on_error: dead-letter\n    dead_letter: orders"


def faults(text: str, directory: Path = Path()) -> list[str]:
    with pytest.raises(InvalidPipeline) as caught:
        read_spec(text, directory)
    return [str(fault) for fault in caught.value.faults]


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def registered(decode: str, registry: str) -> str:
    """The same with a registry that has the schema."""
    text = changed("    schema: id STRING, amount DOUBLE, at TIMESTAMP\n", f"    registry: {registry}\n")
    return text.replace("    decode: json", f"    decode: {decode}")


def test_a_right_one_is_read_with_its_defaults() -> None:
    spec = read_spec(GOOD, Path())[0]
    assert spec.name == "revenue"
    assert spec.sources["orders"].start == "earliest"
    assert spec.sources["orders"].on_error == "fail"
    assert spec.sinks[0].kind == "topic"
    assert spec.sinks[0].delivery == "at-least-once"
    assert [sink_name(sink) for sink in spec.sinks] == ["totals"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            changed("    topic: orders", "    topik: orders"),
            "line 4, sources.orders.topik: there is no key 'topik' here; did you mean 'topic'?",
        ),
        (
            changed("decode: json", "decode: jsn"),
            "line 5, sources.orders.decode: 'jsn' is not possible; did you mean 'json'?",
        ),
        (
            changed("delay: 10 seconds", "delay: 10 parsecs"),
            "line 7, sources.orders.watermark.delay: '10 parsecs' is no duration such as "
            "'10 seconds' or '5 minutes'",
        ),
        (
            changed("  - from: totals", "  - from: total"),
            "line 12, sinks[0].from: no source or step above is called 'total'; did you mean 'totals'?",
        ),
        (changed("mode: update", "mode: 7"), "line 14, sinks[0].mode: "),
        (
            changed("  - from: totals", "  - form: totals"),
            "line 12, sinks[0].form: there is no key 'form' here; did you mean 'from'?",
        ),
        (
            changed("    topic: totals\n", "    topic: totals\n    console: true\n"),
            "line 12, sinks[0]: has topic and console, and may have only one of topic, delta, iceberg, "
            "parquet, console",
        ),
        (
            changed("    topic: totals\n", "    delta: table\n"),
            "line 14, sinks[0].mode: a table only takes 'append', unless 'upsert' says",
        ),
        (
            changed("    schema: id STRING, amount DOUBLE, at TIMESTAMP\n", ""),
            "line 3, sources.orders: JSON needs a schema (such as 'id STRING, amount DOUBLE') or a sample",
        ),
        (
            changed("    decode: json", "    decode: json\n    on_error: dead-letter"),
            "line 3, sources.orders: 'on_error: dead-letter' and 'dead_letter: TOPIC' belong together",
        ),
        (
            changed("    decode: json", "    decode: json\n    start: yesterday"),
            "line 6, sources.orders.start: 'yesterday' is not 'earliest', 'latest' or a time such as "
            "'2026-03-01T08:00:00Z'",
        ),
        (
            changed("    decode: json", "    decode: json\n    options: {maxOffsetPerTrigger: 5}"),
            "line 6, sources.orders.options: ",
        ),
        (
            changed("id STRING,", "id STRNG,"),
            "line 6, sources.orders.schema: field id: 'STRNG' is no type of Spark; did you mean 'STRING'?",
        ),
        (
            changed("    decode: json", "    decode: json\n    table: true").replace(
                "sources:\n", "sources:\n  more: {topic: more}\n"
            ),
            "line 9, sources.orders.watermark: 'watermark' is for streams; a table has the latest record of",
        ),
        (
            changed("    decode: json", "    decode: json\n    reload: true"),
            "line 6, sources.orders.reload: is for files; topics are read on and on",
        ),
        (
            changed("    topic: totals\n", "    topic: totals\n    upsert: {by: id}\n"),
            "line 14, sinks[0].upsert: is for tables of delta and iceberg",
        ),
        (
            changed("    topic: totals\n", "    delta: totals\n    upsert: {by: []}\n"),
            "line 14, sinks[0].upsert.by: names no column",
        ),
        (
            changed("    topic: totals\n", "    topic: totals\n    encode: avro\n"),
            "line 12, sinks[0]: Avro needs a schema: the path of an .avsc file",
        ),
        (
            changed("    decode: json", "    decode: json\n    registry: http://registry:8081"),
            "line 7, sources.orders.schema: 'schema' does not go with 'registry', which has the schema",
        ),
        (
            registered("raw", "http://registry:8081"),
            "line 6, sources.orders.registry: is for 'decode: json', 'avro' and 'protobuf', and not",
        ),
        (
            registered("avro", "{url: 'http://x', password: y}"),
            "line 6, sources.orders.registry.password: has no 'user' to go with",
        ),
        (
            registered("avro", "{url: 'ftp://x'}"),
            "line 6, sources.orders.registry: 'ftp://x' is no URL of a schema registry; write one such as",
        ),
        (
            registered("avro", "{url: 'http://x', subjekt: x}"),
            "line 6, sources.orders.registry.subjekt: there is no key 'subjekt' here; did you mean",
        ),
        (
            registered("avro", "{url: 'http://r', version: 0}"),
            "line 6, sources.orders.registry.version: versions begin with 1",
        ),
        (
            changed("    topic: totals\n", "    topic: totals\n    registry: http://r:8081\n"),
            "line 14, sinks[0].registry: is for 'encode: json', 'avro' and 'protobuf'",
        ),
        (
            changed(
                "    topic: totals\n",
                "    topic: totals\n    encode: protobuf\n    registry: http://r:8081\n",
            ),
            "line 15, sinks[0].registry: Protobuf needs a 'schema' (the path of a descriptor set) and the",
        ),
        (
            changed(
                "    topic: totals\n",
                "    topic: totals\n    encode: json\n    registry: {url: 'http://r', version: 3}\n",
            ),
            "line 15, sinks[0].registry.version: goes with 'register: false'",
        ),
        (
            changed("    topic: totals\n", "    topic: totals\n    schema: a.avsc\n"),
            "line 14, sinks[0].schema: 'schema' is for 'encode: avro' and 'encode: protobuf'",
        ),
        (
            changed("    topic: totals\n", "    topic: totals\n    encode: json\n    value: id\n"),
            "line 15, sinks[0].value: 'value' does not go with 'encode: json'",
        ),
        (changed("name: revenue", "name: my revenue"), "line 1, name: has to be letters"),
        (changed("name: revenue", 'name: "revenue\\n"'), "line 1, name: has to be letters"),
        (
            changed("    topic: orders", f"    pattern: orders.*{DEAD_LETTERS}-bad"),
            "line 6, sources.orders.dead_letter: the source reads 'orders-bad' too",
        ),
        (
            changed("    decode: json", f"    decode: json{DEAD_LETTERS}"),
            "line 7, sources.orders.dead_letter: the source reads 'orders' too",
        ),
        (
            GOOD.replace("  - name: totals", "  - name: orders").replace("from: totals", "from: orders"),
            "line 9, steps[0].name: the name 'orders' is taken by a frame above",
        ),
        (changed("    sql: SELECT", "    from: orders\n    dedupe: [SELECT"), "not YAML"),
        (
            changed("    decode: json", "    decode: json\n    start: 2026-13-01"),
            "line 6: '2026-13-01' looks like timestamp, and is none: month must be in 1..12",
        ),
        (changed("name: revenue", "name: !!bool maybe"), "line 1: 'maybe' looks like bool"),
        (changed("name: revenue", "name: &me [*me]"), "not YAML: it is nested too deep, or within itself"),
        (changed("name: revenue", "name: \x00"), "not YAML: unacceptable character"),
        (changed("name: revenue", "name: revenue\nname: again"), "line 2, name: the key 'name' is"),
        (changed("    topic: totals\n", "    topic:\n"), "line 13, sinks[0].topic: has no value"),
        ("", "line 1: the file is empty"),
        ("- a\n- b\n", "has to be a mapping with the keys name, description"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_at_its_line(text: str, said: str) -> None:
    found = faults(text)
    assert len(found) == 1, found
    assert said in found[0]


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace("topic: orders", "topik: orders").replace("mode: update", "mod: update")
    assert [fault.partition(",")[0] for fault in faults(text)] == ["line 4", "line 14"]


def test_a_rule_that_is_not_there_is_found_before_spark_starts(tmp_path: Path) -> None:
    text = GOOD.replace(
        "    sql: SELECT sum(amount) AS total FROM orders GROUP BY window(at, '1 minute')\n",
        "    from: orders\n    state: {by: [id], rule: rules.py:Rule, output: id STRING}\n",
    )
    assert faults(text, tmp_path) == [
        f"line 11, steps[0].state.rule: there is no file {tmp_path / 'rules.py'}"
    ]
    (tmp_path / "rules.py").write_text("class Rule: ...")
    assert read_spec(text, tmp_path)[0].steps[0].state is not None


def test_a_python_file_names_its_function(tmp_path: Path) -> None:
    file = tmp_path / "alerts.py"
    file.write_text("def pipeline(p): ...\ndef other(p): ...\n")
    assert load_pipeline(str(file)).name == "alerts"
    assert load_pipeline(f"{file}:other").name == "other"
    with pytest.raises(InvalidPipeline, match="has no function 'othr'; did you mean 'other'"):
        load_pipeline(f"{file}:othr")


def test_a_python_file_that_fails_says_where(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("x = 1\nraise ValueError('no')\n")
    with pytest.raises(InvalidPipeline, match=r"line 2, .*broken.py: ValueError: no"):
        load_pipeline(str(file))


def test_a_file_that_is_not_there_and_one_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(InvalidPipeline, match="cannot read it: No such file"):
        load_pipeline(str(tmp_path / "none.yaml"))
    (tmp_path / "a.toml").write_text("")
    with pytest.raises(InvalidPipeline, match=r"is neither \.yaml nor \.py"):
        load_pipeline(str(tmp_path / "a.toml"))
