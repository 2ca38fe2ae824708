"""Share groups through the admin clients that know them: list, describe, offsets, deletion."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.driver import Code, Refused
from tests.interop.shares.jobs import Jobs
from tests.interop.waiting import eventually


@pytest.fixture(params=["java", "franz-go"])
def admin(request: pytest.FixtureRequest, open_client: Callable[[str], Any]) -> Any:
    return open_client(request.param)


def test_a_group_is_described(admin: Any, jobs: Jobs, java: Any) -> None:
    jobs.fill(1)
    member = jobs.join(java)
    member.take_all(1)
    found = admin.describe_share_group(jobs.group)
    assert found.state == "Stable"
    [seen] = found.members
    assert (seen.client_id, seen.partitions) == ("java", {(jobs.topic, 0)})
    assert seen.host.lstrip("/") in ("127.0.0.1", "::1", "0:0:0:0:0:0:0:1")
    member.close()
    eventually(lambda: admin.describe_share_group(jobs.group)[:2] == ("Empty", []))


def test_groups_are_listed_by_type(admin: Any, jobs: Jobs, java: Any, reference: Any) -> None:
    jobs.fill(1)
    jobs.join(java).take_all(1)
    plain = reference.join_group(f"plain-{jobs.group}", jobs.topic)
    eventually(lambda: bool(plain.look().records))
    shares, classic = admin.list_typed_groups("share"), admin.list_typed_groups("classic")
    assert (shares[jobs.group].protocol, shares[jobs.group].state) == ("share", "Stable")
    assert f"plain-{jobs.group}" not in shares
    assert jobs.group not in classic
    assert f"plain-{jobs.group}" in classic
    plain.close()


def test_offsets_are_altered_only_while_the_group_is_empty(admin: Any, jobs: Jobs, java: Any) -> None:
    jobs.fill(6)
    member = jobs.join(java, explicit=True)
    held = member.take_all(6)
    with pytest.raises(Refused) as refused:
        admin.alter_share_offsets(jobs.group, {(jobs.topic, 0): 4})
    assert refused.value.code == Code.NON_EMPTY_GROUP
    member.finish(held)
    member.close()
    eventually(lambda: not admin.describe_share_group(jobs.group).members)
    admin.alter_share_offsets(jobs.group, {(jobs.topic, 0): 4})
    assert admin.share_offsets(jobs.group) == {(jobs.topic, 0): (4, 2)}
    member = jobs.join(java, explicit=True)
    assert [(record.offset, record.deliveries) for record in member.take_all(2)] == [(4, 1), (5, 1)]


def test_offsets_and_groups_are_deleted(admin: Any, jobs: Jobs, java: Any) -> None:
    jobs.fill(2)
    member = jobs.join(java, explicit=True)
    member.finish(member.take_all(2))
    for delete in (
        lambda: admin.delete_share_offsets(jobs.group, [jobs.topic]),
        lambda: admin.delete_share_group(jobs.group),
    ):
        with pytest.raises(Refused) as refused:
            delete()
        assert refused.value.code == Code.NON_EMPTY_GROUP
    member.close()
    eventually(lambda: not admin.describe_share_group(jobs.group).members)
    admin.delete_share_offsets(jobs.group, [jobs.topic])
    assert admin.share_offsets(jobs.group) == {}
    admin.delete_share_group(jobs.group)
    assert jobs.group not in admin.list_typed_groups("share")
    with pytest.raises(Refused) as refused:
        admin.delete_share_group(jobs.group)
    assert refused.value.code == Code.GROUP_ID_NOT_FOUND
    member = jobs.join(java, explicit=True)
    assert [(record.offset, record.deliveries) for record in member.take_all(2)] == [(0, 1), (1, 1)]
