"""What every test shares: under CI=true a skip is a failure, so that nothing goes untested unseen; tests
that share something dear, such as a Spark session, run on one worker; and children may be interrupted.
"""

import os
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# By hand rather than by xdist_group: xdist 3.8 marks tests in a way that pytest 9.2 does not pass on.
TOGETHER = {
    # These start what they need themselves, so they need not wait for the others of their directory.
    "tests/spark/test_demo_pipeline.py": "a demonstration",
    "tests/spark/test_pipeline_command.py": "pipelines",
    "tests/spark/test_planted_secret.py": "planted secrets",
    "tests/spark/test_source_connect.py": "Spark Connect",
    "tests/spark/test_lake_sync.py::test_the_command_": "a sync by the command",
    "tests/spark/test_two_phase_commit.py": "two-phase-commit",
    "tests/spark/": "Spark",
    "tests/deploy/test_packages.py": "packages",
    "tests/deploy/test_man_pages.py": "man pages",
    "tests/deploy/test_docker_files.py": "Docker's files",
    "tests/interop/cluster/": "a cluster",
    "tests/interop/shares/": "share groups",
    "tests/interop/test_cluster_cli_apache.py": "a cluster of Apache Kafka",
    "tests/interop/prometheus/test_live_cluster.py": "a cluster that Prometheus watches",
    "tests/interop/test_state_metrics.py": "a cluster with metrics",
    "tests/interop/test_operations_page.py": "a cluster for the handbook",
    "tests/interop/test_up_secure.py": "a secured cluster",
    "tests/interop/test_clients_on_cores.py": "a machine of two cores",
    "tests/releases/test_rolling_upgrade.py": "a cluster of two versions",
}

# How long an example takes says more about the machine than about the code.
settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")

SKIPS_FAIL = os.environ.get("CI", "").lower() in ("1", "true")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Under nohup, and in the background of a shell. A child would inherit that, and could not be stopped by
    # Ctrl-C, which is what some tests are about; a handler is not inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Together(LoadScopeScheduling):
    """Every test by itself, to whichever worker is free, but for those that share something."""

    def _split_scope(self, nodeid: str) -> str:
        return next((what for where, what in TOGETHER.items() if nodeid.startswith(where)), nodeid)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What shares something dear takes long, and goes first: at the end other workers would wait for it."""
    if config.getoption("dist", "no") == "loadgroup":
        items.sort(key=lambda item: not item.nodeid.startswith(tuple(TOGETHER)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return Together(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An expected failure is reported as skipped too, and is none.
    if SKIPS_FAIL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {_reason(report.longrepr)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if SKIPS_FAIL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {_reason(report.longrepr)}"
    return report


def _reason(longrepr: object) -> str:
    return str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
