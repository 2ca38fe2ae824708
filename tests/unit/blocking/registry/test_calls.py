"""Which URL is asked, when a call is repeated, and what errors say."""

import http.client
import ssl

import pytest

from tests.unit.blocking.registry.scripted_http import A, Answer, B, ScriptedHttp, refused
from tidelog.blocking.registry.calls import target_of
from tidelog.blocking.registry.errors import NotARegistry, RegistryRefused, RegistryUnavailable


def test_a_connection_is_kept() -> None:
    script = ScriptedHttp({A: [Answer([1]), Answer([2])]})
    calls = script.calls()
    assert [calls.get("subjects"), calls.get("subjects")] == [[1], [2]]
    assert script.opened == [A]


def test_the_next_url_answers_and_is_asked_first_from_then_on() -> None:
    script = ScriptedHttp({A: [], B: [Answer(["x"]), Answer(["y"])]})
    calls = script.calls()
    assert calls.get("subjects") == ["x"]
    assert calls.get("subjects") == ["y"]
    assert script.opened == [B]


def test_a_registry_that_is_out_of_order_is_passed_over() -> None:
    script = ScriptedHttp({A: [refused(50003)], B: [Answer(1)]})
    assert script.calls().get("mode") == 1


def test_it_asks_again_until_time_is_up() -> None:
    script = ScriptedHttp({A: [refused(50301), refused(50301), Answer(1)]})
    assert script.calls(retry_s=5.0).get("mode") == 1
    assert len(script.slept) == 2


def test_no_answer_at_all_names_each_url() -> None:
    script = ScriptedHttp({A: [], B: []})
    with pytest.raises(RegistryUnavailable, match="http://a:8081: nothing listens there; http://b:8081"):
        script.calls(retry_s=0.0).get("mode")
    assert script.slept == []


def test_a_person_need_not_wait_where_nothing_listens() -> None:
    script = ScriptedHttp({A: [], B: []})
    with pytest.raises(RegistryUnavailable):
        script.calls(retry_s=5.0, waits_for_start=False).get("mode")
    assert script.slept == []
    script = ScriptedHttp({A: [], B: [refused(50301), Answer(1)]})
    assert script.calls(retry_s=5.0, waits_for_start=False).get("mode") == 1


def test_a_bug_of_the_registry_is_not_asked_for_twice() -> None:
    script = ScriptedHttp({A: [Answer({"message": "oops"}, 500), Answer(1)]})
    with pytest.raises(RegistryRefused, match="oops"):
        script.calls().get("mode")


def test_a_certificate_that_is_not_trusted_stays_so() -> None:
    error = ssl.SSLCertVerificationError(1, "verify failed")
    error.verify_message = "self-signed certificate"
    script = ScriptedHttp({A: [error, Answer(1)]})
    with pytest.raises(RegistryUnavailable, match=r"self-signed certificate.*ssl\.ca\.location"):
        script.calls().get("mode")
    assert script.slept == []


def test_a_kept_connection_that_was_closed_is_opened_again() -> None:
    script = ScriptedHttp({A: [Answer(1), http.client.RemoteDisconnected("gone"), Answer(2)]})
    calls = script.calls(retry_s=0.0)
    calls.get("mode")
    assert calls.get("mode") == 2
    assert script.opened == [A, A]


def test_a_deletion_that_may_have_happened_is_not_repeated() -> None:
    script = ScriptedHttp({A: [http.client.RemoteDisconnected("gone"), Answer(1)], B: [Answer(1)]})
    with pytest.raises(RegistryUnavailable):
        script.calls().delete("subjects", "s")
    assert script.targets == ["DELETE /subjects/s"]


def test_a_deletion_goes_to_the_next_url_where_nothing_listens() -> None:
    script = ScriptedHttp({A: [], B: [Answer(1)]})
    assert script.calls().delete("subjects", "s") == 1


def test_refusals_have_confluent_s_code_and_words() -> None:
    script = ScriptedHttp({A: [refused(40401, "Subject 's' not found.")]})
    with pytest.raises(RegistryRefused) as caught:
        script.calls().get("subjects", "s", "versions")
    assert (caught.value.status, caught.value.code) == (404, 40401)
    assert caught.value.is_not_found
    assert str(caught.value) == "the schema registry answered 40401: Subject 's' not found."


def test_a_path_that_does_not_exist_is_no_missing_subject() -> None:
    for answer in (refused(404, "HTTP 404 Not Found"), Answer({"detail": "Not Found"}, 404)):
        with pytest.raises(RegistryRefused) as caught:
            ScriptedHttp({A: [answer]}).calls().get("subjects", "s", "versions")
        assert (caught.value.is_not_found, caught.value.is_other_path) == (False, True)


@pytest.mark.parametrize(
    "answer",
    [Answer(b"<html>hello</html>"), Answer(b"<html>no such page</html>", 404), Answer(b"[" * 100_000)],
)
def test_what_is_no_registry_is_called_so(answer: Answer) -> None:
    with pytest.raises(NotARegistry, match="check the URL"):
        ScriptedHttp({A: [answer]}).calls().get("subjects")


def test_users_and_tokens_are_sent() -> None:
    script = ScriptedHttp({A: [Answer(1)]})
    script.calls(user="ann", password="pä:ss").get("mode")
    assert script.asked[0].headers["Authorization"] == "Basic YW5uOnDDpDpzcw=="
    script = ScriptedHttp({A: [Answer(1)]})
    script.calls(user="ann", token="t0k\n").get("mode")
    assert script.asked[0].headers["Authorization"] == "Bearer t0k"


def test_names_are_quoted_and_unset_options_left_out() -> None:
    path = ("subjects", ":.ctx:a/b ?", "versions", 3)
    target = target_of(path, {"deleted": True, "normalize": False, "format": None, "limit": 5})
    assert target == "/subjects/%3A.ctx%3Aa%2Fb%20%3F/versions/3?deleted=true&limit=5"


def test_a_redirect_names_where_it_leads_to() -> None:
    script = ScriptedHttp({A: [Answer(b"", 308, "https://a/subjects")]})
    with pytest.raises(NotARegistry, match="http://a:8081 redirects to 'https://a/subjects'; give"):
        script.calls().get("subjects")
    assert script.targets == ["GET /subjects"]
