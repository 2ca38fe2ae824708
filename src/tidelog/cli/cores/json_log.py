"""The log of a machine's cores with `logging.format: json`: one object a line, with the core in it."""

import json
import time

from tidelog.cli.fleet.log import CombinedLog

LOGGER = "tidelog.cores"


class JsonLog(CombinedLog):
    def write(self, broker: int, line: str) -> None:
        core = self._numbers.get(broker, broker)
        if line.startswith('{"time":') and line.endswith("}"):
            text = f'{{"core": {core}, {line[1:]}'
        else:  # of the supervisor, or of Python itself
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            entry = {"core": core, "time": moment, "level": "info", "logger": LOGGER, "message": line}
            text = json.dumps(entry, ensure_ascii=False)
        self._write(text)
