"""A broker of an earlier release passes over settings of topics and groups that it does not know yet.

So they may be set while such brokers are left: nothing is refused until they are gone, as it is with records
of a kind that they do not know.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.releases.release import Release, releases
from tidelog.base.config.setting import render
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.topic_settings import TOPIC_SETTINGS

LOOK = """
import json, sys
from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.describe import describe_group, describe_topic
from tidelog.base.config.group_config import resolve_group
from tidelog.base.config.topic_config import resolve_topic
from tidelog.metadata.configs.rules import check_group_configs, check_topic_configs
topic, group = json.load(sys.stdin)
broker = BrokerConfig()
topic["retention.ms"], group["consumer.session.timeout.ms"] = "12345", "50000"
check_topic_configs(topic, {"retention.ms"}, broker)
check_group_configs(group, {"consumer.session.timeout.ms"}, broker)
describe_topic(topic, broker, None), describe_group(group, broker, None)
print(resolve_topic(topic, broker).int("retention.ms"))
print(resolve_group(group, broker).int("consumer.session.timeout.ms"))
"""


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_unknown_settings_are_passed_over(release: Release, source_of: Callable[[Release], Path]) -> None:
    stored = [
        {key: render(one, one.default) or "" for key, one in settings.items() if one.ours or "share" in key}
        for settings in (TOPIC_SETTINGS, GROUP_SETTINGS)
    ]
    assert "share.delete.acknowledged" in stored[0]
    assert "share.retry.backoff.ms" in stored[1]
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        input=json.dumps(stored),
        env={"PYTHONPATH": str(source_of(release))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["12345", "50000"]
