"""Every lookup of a setting in the source names one that exists, with the accessor of its type.

The accessors are plain dict lookups, so a wrong name or type would show only when that line runs.
"""

import re
from pathlib import Path

import tidelog
from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.setting import Kind
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.topic_settings import TOPIC_SETTINGS

ACCESSOR = {
    Kind.BOOL: {"bool"},
    Kind.INT: {"int"},
    Kind.SHORT: {"int"},
    Kind.LONG: {"int"},
    Kind.DOUBLE: {"float"},
    Kind.LIST: {"list"},
    Kind.ENUM: {"text"},
    Kind.STRING: {"text", "optional_text"},
    Kind.PASSWORD: {"text", "optional_text"},
}
LOOKUP = re.compile(
    r"""(?:config|settings|topic|group\(\w+(?:\.\w+)*\))\.(int|bool|float|list|text|optional_text)\(\s*["']([^"']+)["']"""
)


def test_lookups_fit_the_tables() -> None:
    wrong, found = [], 0
    for path in Path(tidelog.__file__).parent.rglob("*.py"):
        for accessor, name in LOOKUP.findall(path.read_text(encoding="utf-8")):
            found += 1
            setting = BROKER_SETTINGS.get(name) or TOPIC_SETTINGS.get(name) or GROUP_SETTINGS.get(name)
            if setting is None or accessor not in ACCESSOR[setting.kind]:
                wrong.append(f'{path}: {accessor}("{name}")')
    assert wrong == []
    assert found > 10
