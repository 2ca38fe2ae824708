"""What is installed to show a pipeline: the requirements of the extra `spark`, and only those."""

import pytest

from tidelog.cli import spark_install
from tidelog.spark.session import SparkMissing


def test_only_the_extra_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [
        "click>=8",
        "uvloop; extra == 'fast'",
        'pyspark==4.3.0; extra == "spark"',
        "pandas<3 ; extra=='spark'",
    ]
    monkeypatch.setattr(spark_install, "requires", lambda name: asked)
    assert spark_install.spark_requirements() == ["pyspark==4.3.0", "pandas<3"]


def test_an_installation_that_does_not_know_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_install, "requires", lambda name: ["click>=8"])
    with pytest.raises(SparkMissing, match=r"Try: pip install 'tidelog\[spark\]'"):
        spark_install.install_spark()
