"""Files of users: one line a credential, errors that name the line and not its content."""

import pytest

from tidelog.security.sasl.scram_credential import ScramMechanism, is_password_of, new_credential
from tidelog.security.sasl.users_file import UsersFileError, parse_users, users_file_line

SHA_256, SHA_512 = ScramMechanism
LINE = users_file_line("alice", SHA_256, new_credential(SHA_256, "secret", b"salt" * 4))


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("user", ["alice", "a:b", "with space", "Zoë", "x:SCRAM-SHA-256$"])
def test_a_line_is_read_as_it_was_written(user: str, mechanism: ScramMechanism) -> None:
    credential = new_credential(mechanism, "secret", b"0123456789abcdef", 8192)
    text = f"# users\n\n{users_file_line(user, mechanism, credential)}\n"
    assert parse_users(text) == {(user, mechanism): credential}
    assert is_password_of(mechanism, parse_users(text)[user, mechanism], "secret")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("alice:secret", "line 1 is not"),
        (f"{LINE}\n{LINE}", "line 2: 'alice' has SCRAM-SHA-256 already"),
        (f"\n{LINE.replace('$4096', '$100')}", "line 2.*4096 iterations"),
        (LINE.replace("SHA-256", "SHA-512"), "64 bytes"),
        (LINE.replace("SHA-256", "SHA-1"), "line 1 is not"),
        (LINE[:-1] + "!", "Base64"),
        (LINE.replace("$4096", "$" + "9" * 5000), "line 1 is not"),
    ],
)
def test_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(UsersFileError, match=reason) as raised:
        parse_users(text)
    assert "secret" not in str(raised.value)
    assert LINE.split("$")[2] not in str(raised.value)
