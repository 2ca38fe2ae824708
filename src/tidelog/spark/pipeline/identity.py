"""Whose checkpoint it is. A checkpoint holds offsets and state that mean nothing to another pipeline.

Beside the checkpoints of its queries a pipeline keeps a small file with its name and what it reads; a run
with another name or other topics is refused before Spark sees the directory. Changed steps are only noted:
Spark itself knows which changes its state survives.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import TidelogError
from tidelog.spark.pipeline.spec import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "pipeline.json"
DIRECTORY = "pipeline"
"""Where Spark keeps the same, in places that only Spark can write to."""


class WrongCheckpoint(TidelogError):
    """The directory belongs to another pipeline, or to no pipeline."""


def identity_of(name: str, sources: Mapping[str, Source], text: str) -> dict[str, Any]:
    return {
        "pipeline": name,
        "sources": {key: _reads(source) for key, source in sorted(sources.items()) if source.is_stream},
        "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def _reads(source: Source) -> str:
    if source.pattern is not None:
        return f"pattern {source.pattern}"
    return ", ".join(sorted(source.topics or [source.topic or ""]))


def claim_directory(directory: Path, identity: Mapping[str, Any]) -> bool:
    """Make the directory ours, or find that it is. True where the pipeline's file has changed since."""
    file = directory / FILE
    fresh = file.with_suffix(".tmp")
    if file.exists():
        return compare(_parsed(file.read_text(), str(file)), identity, str(directory))
    if directory.exists() and any(
        found != fresh for found in directory.iterdir()
    ):  # a kill may leave that one
        raise WrongCheckpoint(
            f"{directory} is not empty and no checkpoint of a pipeline; name another directory as checkpoint"
        )
    directory.mkdir(parents=True, exist_ok=True)
    fresh.write_text(json.dumps(identity, indent=2))
    fresh.replace(file)
    return False


def claim_by_spark(spark: "SparkSession", place: str, identity: Mapping[str, Any]) -> bool:
    """The same where the checkpoint is not on this machine: Spark reads and writes it."""
    from pyspark.errors import AnalysisException

    path = f"{place.rstrip('/')}/{DIRECTORY}"
    try:
        rows = spark.read.text(path, wholetext=True).collect()
    except AnalysisException:
        rows = []
    if rows:
        return compare(_parsed(rows[0][0], path), identity, place)
    frame = spark.createDataFrame([(json.dumps(identity),)], "value STRING")
    frame.coalesce(1).write.mode("overwrite").text(path)
    return False


def compare(kept: Mapping[str, Any], identity: Mapping[str, Any], place: str) -> bool:
    """Whether the steps may have changed; WrongCheckpoint where it is another's."""
    if kept.get("pipeline") != identity["pipeline"]:
        raise WrongCheckpoint(
            f"{place} is the checkpoint of the pipeline '{kept.get('pipeline')}', "
            f"and this is '{identity['pipeline']}'"
        )
    before, now = kept.get("sources", {}), identity["sources"]
    if before != now:
        raise WrongCheckpoint(
            f"{place} was made when the pipeline read {_listed(before)}, and now it reads {_listed(now)}; "
            "its offsets and state belong to the former"
        )
    return bool(kept.get("digest") != identity["digest"])


def _listed(sources: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {reads}" for name, reads in sources.items()) or "nothing"


def _parsed(text: str, place: str) -> Mapping[str, Any]:
    try:
        kept = json.loads(text)
    except ValueError as error:
        raise WrongCheckpoint(f"{place} is damaged: {error}") from error
    if not isinstance(kept, dict):
        raise WrongCheckpoint(f"{place} is damaged: it holds no object")
    return kept
