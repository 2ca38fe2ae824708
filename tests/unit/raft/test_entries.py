"""Configurations keep their meaning on disk, and nothing else passes for one."""

import pytest

from tidelog.base.errors import ProtocolError
from tidelog.raft.entries import Configuration, Voter

THREE = Configuration(
    (
        Voter(1, "one:9092", bytes(range(16))),
        Voter(2, "two:9092"),
        Voter(3, "three:9092", vacant=True),
    )
)


def test_a_configuration_survives_its_bytes() -> None:
    assert Configuration.decode(THREE.encode()) == THREE


def test_the_bytes_can_be_read_by_people() -> None:
    assert Configuration((Voter(2, "two:9092"),)).encode() == (
        b'{"voters":[{"id":2,"address":"two:9092","storage":null}]}'
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'{"voters":[]}',
        b'{"voters":[{"id":1,"address":"a:1","storage":"short"}]}',
        b'{"voters":[{"id":-1,"address":"a:1","storage":null}]}',
        b'{"voters":[{"id":1,"address":"a:1","storage":null,"vacant":true}]}',
        b'{"voters":[{"id":1,"address":"a:1","storage":null},{"id":1,"address":"b:1","storage":null}]}',
        b'{"voters":[{"id":1,"address":"a:1","storage":null}],"more":1}',
        b"[" * 100_000,
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="malformed quorum configuration"):
        Configuration.decode(data)


def test_only_the_disk_that_holds_the_seat_is_recognized() -> None:
    one, two, three = THREE.voters
    assert one.is_held_by(bytes(range(16)))
    assert not one.is_held_by(bytes(16))
    assert two.is_held_by(bytes(16))
    assert not three.is_held_by(bytes(16))


def test_a_voter_takes_the_place_of_the_one_with_its_id() -> None:
    moved = THREE.with_voter(Voter(2, "elsewhere:9092"))
    assert [voter.id for voter in moved.voters] == [1, 2, 3]
    assert moved.find(2) == Voter(2, "elsewhere:9092")
    assert [voter.id for voter in THREE.with_voter(Voter(4, "four:1")).voters] == [1, 2, 3, 4]
    assert [voter.id for voter in THREE.without(1).voters] == [2, 3]
    assert [voter.id for voter in THREE.counted] == [1, 2]
