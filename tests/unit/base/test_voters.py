import pytest

from tidelog.base.voters import VoterAddress, parse_address, parse_voters


def test_reads_what_the_setting_names():
    assert parse_voters(["1@a.example:9092", " 2@[::1]:9093"]) == [
        VoterAddress(1, "a.example", 9092),
        VoterAddress(2, "::1", 9093),
    ]


def test_an_address_can_be_read_back():
    for voter in parse_voters(["1@a.example:9092", "2@[::1]:9093"]):
        assert parse_address(voter.address) == (voter.host, voter.port)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a:9092", "is not a voter"),
        ("1@a", "is not a voter"),
        ("x@a:9092", "is not a voter"),
        ("1@a:0", "port 0"),
        ("1@a:70000", "port 70000"),
        ("", "is not a voter"),
    ],
)
def test_says_what_is_wrong(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_voters([text])


def test_one_id_names_one_voter():
    with pytest.raises(ValueError, match="named twice"):
        parse_voters(["1@a:1", "1@b:2"])


@pytest.mark.parametrize("text", ["a", "a:", ":9", "a:b", "[]:1", "a\x00b:9092", "a:٣", "a:9999999", "a:0"])
def test_not_an_address(text):
    with pytest.raises(ValueError, match=r"not an address|port 0"):
        parse_address(text)
