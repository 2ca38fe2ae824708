import pytest

from tests.rigs.transactions.coordinator import Coordinator


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()
