import pytest

from tidelog.testing.transaction_rig import Coordinator


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()
