"""The fake Vault itself: what it answers to plain HTTP, so that the tests that use it can be believed."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from tests.kms import answers
from tests.kms.loopback import DROPPED, Fault
from tests.kms.transit_key import TransitKey
from tests.kms.transit_server import TransitServer
from tests.support.kms.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kms.answers import Answer

PLAIN = b64encode(b"a data key").decode()
WORDS = {"plaintext": PLAIN}


@pytest.fixture
def vault() -> Iterator[TransitServer]:
    with TransitServer(keys={"footer": TransitKey(), "pii": TransitKey()}) as made:
        yield made


def ask(
    vault: TransitServer,
    path: str,
    token: str | None,
    body: object,
    namespace: str | None = None,
    trusted: ssl.SSLContext | None = None,
    method: str = "POST",
) -> tuple[int, Any]:
    """Ask the API and return status and JSON."""
    headers = {"X-Vault-Token": token, "X-Vault-Namespace": namespace, "X-Vault-Request": "true"}
    given = {name: value for name, value in headers.items() if value is not None}
    content = json.dumps(body).encode()
    request = urllib.request.Request(f"{vault.url}/v1/{path}", content, given, method=method)  # noqa: S310 http here
    try:
        with urllib.request.urlopen(request, timeout=10, context=trusted) as answer:  # noqa: S310 as above
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def refusal(answer: Answer) -> tuple[int, Any]:
    return answer.status, answer.body


def encrypted(vault: TransitServer, key: str = "footer", mount: str = "transit") -> str:
    status, body = ask(vault, f"{mount}/encrypt/{key}", vault.token(), WORDS)
    assert status == 200
    return str(body["data"]["ciphertext"])


def test_what_is_encrypted_is_decrypted_under_the_same_key_only(vault: TransitServer) -> None:
    wrapped = {"ciphertext": encrypted(vault)}
    token = vault.token(["footer", "pii"])
    assert wrapped["ciphertext"].startswith("vault:v1:")
    status, body = ask(vault, "transit/decrypt/footer", token, wrapped)
    assert (status, body["data"]) == (200, {"plaintext": PLAIN})
    assert ask(vault, "transit/decrypt/pii", token, wrapped) == (400, {"errors": [answers.NOT_AUTHENTIC]})
    bound = wrapped | {"associated_data": b64encode(b"footer").decode()}
    assert ask(vault, "transit/decrypt/footer", token, bound) == (400, {"errors": [answers.NOT_AUTHENTIC]})


@pytest.mark.parametrize(
    ("ciphertext", "words"),
    [
        ("", "missing ciphertext to decrypt"),
        ("AAAA", "invalid ciphertext: no prefix"),
        ("vault:v1", "invalid ciphertext: wrong number of fields"),
        ("vault:vx:AAAA", "invalid ciphertext: version number could not be decoded"),
        ("vault:v2:AAAA", "invalid ciphertext: version is too new"),
        ("vault:v1:?", "invalid ciphertext: could not decode base64"),
        ("vault:v1:AAAA", "invalid ciphertext length"),
    ],
)
def test_what_is_no_ciphertext_is_named(vault: TransitServer, ciphertext: str, words: str) -> None:
    answered = ask(vault, "transit/decrypt/footer", vault.token(), {"ciphertext": ciphertext})
    assert answered == (400, {"errors": [words]})


def test_a_rotated_key_opens_old_ciphertexts_until_their_version_is_too_old(vault: TransitServer) -> None:
    token, old = vault.token(), encrypted(vault)
    vault.rotate("footer")
    assert encrypted(vault).startswith("vault:v2:")
    assert ask(vault, "transit/decrypt/footer", token, {"ciphertext": old})[0] == 200
    _, rewrapped = ask(vault, "transit/rewrap/footer", token, {"ciphertext": old})
    vault.keys["footer"].min_decryption_version = 2
    assert ask(vault, "transit/decrypt/footer", token, {"ciphertext": old}) == (400, {"errors": [answers.TOO_OLD]})
    status, body = ask(vault, "transit/decrypt/footer", token, {"ciphertext": rewrapped["data"]["ciphertext"]})
    assert (status, body["data"]["plaintext"]) == (200, PLAIN)


def test_a_batch_says_of_each_item_what_became_of_it(vault: TransitServer) -> None:
    token, good = vault.token(), {"ciphertext": encrypted(vault)}
    status, body = ask(vault, "transit/decrypt/footer", token, {"batch_input": [good, good]})
    assert (status, body["data"]["batch_results"]) == (200, [{"plaintext": PLAIN}] * 2)
    status, body = ask(vault, "transit/decrypt/footer", token, {"batch_input": [good, {"ciphertext": "x"}]})
    failed = {"error": "invalid ciphertext: no prefix"}
    assert (status, body["data"]["batch_results"]) == (400, [{"plaintext": PLAIN}, failed])
    status, body = ask(vault, "transit/rewrap/footer", token, {"batch_input": [{"ciphertext": "x"}]})
    assert (status, body["data"]["batch_results"]) == (200, [failed])
    status, body = ask(vault, "transit/encrypt/footer", token, {"batch_input": [WORDS] * 3})
    assert (status, len(body["data"]["batch_results"])) == (200, 3)
    status, body = ask(vault, "transit/encrypt/footer", token, {"batch_input": [WORDS, {}]})
    assert (status, body["data"]["batch_results"][1]) == (400, {"error": "missing plaintext to encrypt"})
    assert vault.calls[1].wrapped == (good["ciphertext"],) * 2


def test_a_token_is_refused_what_it_may_not_use_before_it_learns_what_there_is(vault: TransitServer) -> None:
    few = vault.token(["footer", "none"])
    assert ask(vault, "transit/encrypt/pii", few, WORDS) == refusal(answers.DENIED)
    assert ask(vault, "elsewhere/encrypt/footer", few, WORDS) == refusal(answers.DENIED)
    assert ask(vault, "transit/encrypt/a/b", few, WORDS) == refusal(answers.DENIED)
    assert ask(vault, "transit/rewrap/footer", few, {"ciphertext": "x"}) == refusal(answers.DENIED)
    root = vault.token()
    assert ask(vault, "elsewhere/encrypt/k", root, WORDS) == refusal(answers.no_route("elsewhere/encrypt/k"))
    assert ask(vault, "transit/encrypt/a/b", root, WORDS) == refusal(answers.UNSUPPORTED_PATH)


def test_encrypting_with_a_missing_key_makes_it_for_who_may_create(vault: TransitServer) -> None:
    missing = {"ciphertext": "vault:v1:AAAA"}
    assert ask(vault, "transit/decrypt/new", vault.token(["new"]), missing) == refusal(answers.KEY_NOT_FOUND)
    assert ask(vault, "transit/encrypt/new", vault.token(["new"]), WORDS) == refusal(answers.DENIED)
    creator = vault.token(["new"], may_create=True)
    vault.state.upsert = False
    assert ask(vault, "transit/encrypt/new", creator, WORDS) == refusal(answers.KEY_NOT_FOUND)
    vault.state.upsert = True
    assert ask(vault, "transit/encrypt/new", creator, WORDS)[0] == 200
    assert sorted(vault.keys) == ["footer", "new", "pii"]


def test_a_token_that_is_unknown_expired_or_used_up_is_invalid(vault: TransitServer) -> None:
    once, short = vault.token(uses=1), vault.token()
    assert ask(vault, "transit/encrypt/footer", once, WORDS)[0] == 200
    vault.state.tokens[short].expired = True
    for token in (once, short, "hvs.nobodys"):
        assert ask(vault, "transit/encrypt/footer", token, WORDS) == refusal(answers.INVALID_TOKEN)
    assert ask(vault, "transit/encrypt/footer", None, WORDS) == refusal(answers.NO_TOKEN)


def test_an_older_vault_gives_the_same_answer_for_an_invalid_token_and_a_denied_key(vault: TransitServer) -> None:
    vault.state.names_tokens = False
    few = vault.token(["footer"])
    for token, key in ((few, "pii"), ("hvs.nobodys", "footer")):
        assert ask(vault, f"transit/encrypt/{key}", token, WORDS) == refusal(answers.DENIED)


def test_a_token_can_be_looked_up_by_itself_while_it_is_good(vault: TransitServer) -> None:
    path, token, strict = "auth/token/lookup-self", vault.token(["footer"]), vault.token(may_look_up=False)
    assert ask(vault, path, token, {}, method="GET")[0] == 200
    assert ask(vault, path, token, {}) == refusal(answers.UNSUPPORTED_OPERATION)
    assert ask(vault, path, strict, {}, method="GET") == refusal(answers.DENIED)
    vault.state.expire()
    assert ask(vault, path, token, {}, method="GET") == refusal(answers.INVALID_TOKEN)


@pytest.mark.parametrize(
    ("method", "right", "refused"),
    [
        ("approle", {"role_id": "spark", "secret_id": "s3"}, answers.APPROLE_REFUSED),
        ("kubernetes", {"role": "spark", "jwt": "s3"}, answers.KUBERNETES_REFUSED),
    ],
)
def test_a_login_gives_a_token_that_can_be_renewed(
    vault: TransitServer, method: Any, right: dict[str, str], refused: Answer
) -> None:
    vault.role(method, "spark", "s3", mount="place", keys=frozenset(["pii"]), lease=60)
    status, body = ask(vault, "auth/place/login", None, right)
    assert (status, body["auth"]["lease_duration"], body["auth"]["renewable"]) == (200, 60, True)
    token = body["auth"]["client_token"]
    assert ask(vault, "transit/encrypt/pii", token, WORDS)[0] == 200
    assert ask(vault, "transit/encrypt/footer", token, WORDS) == refusal(answers.DENIED)
    assert ask(vault, "auth/token/renew-self", token, {})[1]["auth"]["client_token"] == token
    assert ask(vault, "auth/token/renew-self", vault.token(), {}) == refusal(answers.NOT_RENEWABLE)
    assert ask(vault, "auth/place/login", None, dict.fromkeys(right, "wrong")) == refusal(refused)
    assert ask(vault, f"auth/{method}/login", None, right) == refusal(answers.NO_TOKEN)
    vault.state.expire()
    assert ask(vault, "transit/encrypt/pii", token, WORDS) == refusal(answers.INVALID_TOKEN)


def test_a_mount_in_a_namespace_is_found_there_only() -> None:
    with TransitServer(mount="kms/eu", namespace="team", keys={"footer": TransitKey()}) as vault:
        root, path = vault.token(), "kms/eu/encrypt/footer"
        assert ask(vault, path, root, WORDS, namespace="team/")[0] == 200
        assert ask(vault, path, root, WORDS) == refusal(answers.no_route(path))
        assert ask(vault, path, root, WORDS, namespace="other") == refusal(answers.no_route(path))
        assert [call.namespace for call in vault.calls] == ["team", "", "other"]


def test_a_sealed_vault_refuses_all(vault: TransitServer) -> None:
    vault.seal()
    assert ask(vault, "transit/encrypt/footer", vault.token(), WORDS) == refusal(answers.SEALED)
    assert ask(vault, "auth/approle/login", None, {}) == refusal(answers.SEALED)


def test_every_request_is_written_down(vault: TransitServer) -> None:
    token = vault.token()
    ask(vault, "transit/encrypt/footer", token, WORDS)
    [call] = vault.calls
    assert call.accessor == vault.state.tokens[token].accessor
    assert call._replace(accessor=None) == (
        ("POST", "transit/encrypt/footer", "", None, frozenset(["plaintext"]), (), True, 200)
    )


def test_faults_come_in_order_where_they_are_wanted_and_go(vault: TransitServer) -> None:
    token = vault.token()
    vault.inject(answers.throttled(3), times=2, path="encrypt")
    vault.inject(Fault(answers.INTERNAL, delay=0.01))
    vault.inject(Fault(delay=0.01))
    assert ask(vault, "transit/decrypt/footer", token, {"ciphertext": "x"}) == refusal(answers.INTERNAL)
    got = [ask(vault, "transit/encrypt/footer", token, WORDS)[0] for _ in range(4)]
    assert got == [429, 429, 200, 200]
    vault.inject(DROPPED, times=None)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            ask(vault, "transit/encrypt/footer", token, WORDS)
    vault.heal()
    assert encrypted(vault)
    assert [call.status for call in vault.calls] == [500, 429, 429, 200, 200, 0, 0, 200]


def test_an_answer_can_be_cut(vault: TransitServer) -> None:
    vault.inject(Fault(answers.INTERNAL, delay=0.01, cut=True))
    with pytest.raises(http.client.IncompleteRead):
        ask(vault, "transit/encrypt/footer", vault.token(), WORDS)


def test_a_vault_that_stopped_is_not_reached() -> None:
    with TransitServer() as vault:
        pass
    with pytest.raises(urllib.error.URLError):
        ask(vault, "transit/encrypt/footer", "any", WORDS)


def test_tls_is_accepted_by_who_trusts_the_authority_and_the_name(tmp_path: Path) -> None:
    ours, others = Authority(tmp_path, "ours"), Authority(tmp_path, "others")
    certificates = {
        "right": ours.issue("right"),
        "elsewhere": ours.issue("elsewhere", "vault.example"),
        "expired": ours.issue("expired", expired=True),
        "unknown": others.issue("unknown"),
    }
    trusted = ssl.create_default_context(cafile=ours.path)
    for name, certificate in certificates.items():
        with TransitServer(keys={"footer": TransitKey()}, certificate=certificate) as vault:
            if name == "right":
                assert ask(vault, "transit/encrypt/footer", vault.token(), WORDS, trusted=trusted)[0] == 200
            else:
                with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
                    ask(vault, "transit/encrypt/footer", vault.token(), WORDS, trusted=trusted)
                assert vault.calls == []
