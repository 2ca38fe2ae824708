"""Every setting is documented, the reference pages are fresh, and the example file shows only true names."""

import re
from pathlib import Path

import pytest

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.client_metrics_settings import CLIENT_METRICS_SETTINGS
from tidelog.base.config.config import load
from tidelog.base.config.setting import Setting
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tools import settings_reference
from tools.pages import stale_pages

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "config" / "broker.yaml"


def test_the_reference_pages_are_fresh() -> None:
    assert not stale_pages(settings_reference.PAGES), "run: make docs"


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("broker-settings.md", BROKER_SETTINGS),
        ("group-settings.md", GROUP_SETTINGS),
        ("client-metrics-settings.md", CLIENT_METRICS_SETTINGS),
        ("topic-settings.md", TOPIC_SETTINGS),
    ],
)
def test_the_reference_names_every_setting_and_no_other(page: str, table: dict[str, Setting]) -> None:
    text = (ROOT / "docs" / "reference" / page).read_text()
    assert re.findall(r"^### `(.+)`$", text, re.MULTILINE) == list(table)


@pytest.mark.parametrize(
    "setting",
    [
        *BROKER_SETTINGS.values(),
        *CLIENT_METRICS_SETTINGS.values(),
        *GROUP_SETTINGS.values(),
        *TOPIC_SETTINGS.values(),
    ],
    ids=lambda setting: setting.name,
)
def test_every_setting_says_what_it_is_for(setting: Setting) -> None:
    assert len(setting.doc) > 20
    assert setting.doc[0].isupper()
    assert setting.doc.endswith(".")
    for name in re.findall(r"`([a-z]+(?:\.[a-z]+)+)`", setting.doc):
        assert name in BROKER_SETTINGS | GROUP_SETTINGS | TOPIC_SETTINGS, (
            f"{name} is named but does not exist"
        )


def test_the_example_file_loads_and_keeps_the_defaults() -> None:
    config, defaults = load(EXAMPLE), load()
    assert dict(config) == dict(defaults), "the lines in force are the defaults that people change first"


def test_what_the_example_file_comments_out_would_load_too(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text().splitlines()
    offered = [line[2:] for line in lines if re.match(r"# [a-z]+(\.[a-z]+)*: ", line)]
    taken = {line.partition(":")[0] for line in offered}
    assert len(taken) > 15
    assert taken <= set(BROKER_SETTINGS)
    kept = [line for line in lines if line[:1].isalpha() and line.partition(":")[0] not in taken]
    everything = tmp_path / "broker.yaml"
    everything.write_text("\n".join([*kept, *offered]))
    assert load(everything).list("advertised.listeners") == ("PLAINTEXT://broker-1.example.net:9092",)
