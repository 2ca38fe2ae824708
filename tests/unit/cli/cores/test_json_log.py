"""The log of several cores for programs."""

import io
import json
import logging

from tidelog.base.config.config import load
from tidelog.cli.cores.json_log import JsonLog
from tidelog.cli.cores.plan import plan_cores
from tidelog.cli.cores.voice import CoresVoice
from tidelog.server.logging_setup import JsonLines


def test_each_line_is_an_object_with_its_core() -> None:
    stream = io.StringIO()
    log = JsonLog(1, stream, numbers={1: 0, 1001: 1})
    said = logging.LogRecord("tidelog.raft", logging.WARNING, "", 1, 'it says "no"', (), None)
    log.write(1001, JsonLines().format(said))
    log.write(1, "Broker 1 exited unexpectedly.")
    log.write(1, '{"time": "cut')
    first, second, third = map(json.loads, stream.getvalue().splitlines())
    assert (first["core"], first["level"], first["message"]) == (1, "warning", 'it says "no"')
    assert (second["core"], second["message"]) == (0, "Broker 1 exited unexpectedly.")
    assert third["message"] == '{"time": "cut'


def test_the_setting_chooses() -> None:
    for style, expected in (("json", True), ("text", False)):
        flags = {"logging.format": style}
        voice = CoresVoice(plan_cores(load(None, {}, flags), None, flags, 2, 1), as_json=False)
        assert isinstance(voice.log, JsonLog) is expected
