from __future__ import annotations

import pytest

from headway.errors import OptionError
from headway.server.app import ROUTES
from headway.server.security import OPEN_PATHS, allowed_hosts, check_address, read_keys

KEYS = ("first-key", "second-key")


@pytest.fixture
def guarded(serve):
    server = serve(api_keys=KEYS, max_body_bytes=10_000)
    with server.client() as client:
        yield client


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: row.path)
def test_every_route_but_three_and_the_files_of_the_page_asks_for_a_key(guarded, row):
    answer = guarded.request(row.method, row.path.replace("{name:path}", "stories").replace("{name}", "main.js"))
    if row.path in OPEN_PATHS or row.path == "/page/{name}":
        assert answer.status_code == 200
        return
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    for headers in ({"Authorization": f"Bearer {KEYS[0]}x"}, {"Authorization": KEYS[0]}, {"X-Api-Key": ""}, {"Authorization": "Bearer"}):
        assert guarded.request(row.method, row.path.replace("{name:path}", "stories"), headers=headers).status_code == 401


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/models/", "//v1/models", "/health/../v1/models", "/v1/chat/completions/", "/v2"])
def test_paths_that_do_not_exist_ask_for_a_key_too(guarded, path):
    assert guarded.get(path).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Authorization": f"Bearer {KEYS[1]}"}, {"authorization": f"bearer {KEYS[0]}"}, {"X-Api-Key": KEYS[1]}]
)
def test_either_key_opens_in_either_header(guarded, headers):
    assert guarded.get("/v1/models", headers=headers).status_code == 200


def test_a_large_body_is_refused(guarded):
    headers = {"X-Api-Key": KEYS[0], "Content-Type": "application/json"}
    assert guarded.post("/v1/completions", content=b'{"prompt": "' + b"x" * 20_000 + b'"}', headers=headers).status_code == 413

    def parts():
        yield from [b"x" * 1000] * 20

    assert guarded.post("/v1/completions", content=parts(), headers=headers).status_code == 413


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'"text"', "application/json", 400),
        (b"", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"prompt": "\\ud800"}', "application/json", 400),
        (b'{"prompt":' + b"[" * 5000, "application/json", 400),
        (b'{"prompt":' + b"[" * 4000 + b"]" * 4000 + b"}", "application/json", 400),
        (b'{"prompt": []}', "application/json", 400),
        (b'{"prompt": [[]]}', "application/json", 400),
        (b'{"prompt": [1, "a"]}', "application/json", 400),
        (b'{"prompt": "x", "seed": 1e400}', "application/json", 400),
        (b'{"prompt": "x", "max_tokens": 99999999999999999999999}', "application/json", 400),
        (b'{"prompt": "x"}', "text/plain", 415),
    ],
)
def test_a_malformed_body_is_refused(client, body, content_type, status):
    answer = client.post("/v1/completions", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert set(answer.json()["error"]) >= {"message", "type", "param", "code"}


def test_unknown_paths_and_methods_have_the_same_errors(client):
    assert client.get("/v1/nothing").json()["error"]["code"] == "not_found"
    assert client.get("/v1/completions").status_code == 405
    assert client.get("/v1/completions").json()["error"]["code"] == "method_not_allowed"


def test_other_origins_are_allowed_only_by_name(serve):
    preflight = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    with serve().client() as client:
        assert "access-control-allow-origin" not in client.options("/v1/completions", headers=preflight).headers
    with serve(cors_origins=("https://page.example",), api_keys=KEYS).client() as client:
        assert client.options("/v1/completions", headers=preflight).headers["access-control-allow-origin"] == "https://page.example"


def test_another_address_needs_a_key_or_open():
    check_address("127.0.0.1", (), is_open=False)
    check_address("0.0.0.0", KEYS, is_open=False)
    check_address("0.0.0.0", (), is_open=True)
    with pytest.raises(OptionError, match="expected a key"):
        check_address("0.0.0.0", (), is_open=False)


def test_keys_are_read_from_a_file(tmp_path):
    file = tmp_path / "keys"
    file.write_text("one\n\n two \n")
    assert read_keys(["three"], file) == ("three", "one", "two")
    file.write_text("\n")
    with pytest.raises(OptionError, match="without a key"):
        read_keys([], file)
    with pytest.raises(OptionError, match="empty"):
        read_keys([" "], None)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("127.0.0.1:1", 200), ("[::1]:8000", 200), ("LocalHost.:80", 200), ("own.example:443", 200),
        ("hostile.example", 421), ("localhost.hostile.example:8000", 421), ("127.0.0.1.hostile.example", 421), ("[::2]", 421), ("", 421),
        ("0.0.0.0", 421), ("localhost@hostile.example", 421),
    ],
)  # fmt: skip
def test_a_server_without_keys_answers_requests_for_its_own_names_only(serve, host, status):
    server = serve(allowed_hosts=allowed_hosts("127.0.0.1", (), ("Own.example",)))
    with server.client(headers={"Host": host}) as client:
        for path in ("/", "/health", "/v1/models", "/nothing"):
            answer = client.get(path)
            assert answer.status_code == (404 if path == "/nothing" and status == 200 else status)
            if status == 421:
                assert "--allowed-host" in answer.json()["error"]["message"]
        assert client.post("/v1/completions", json={"prompt": "a", "max_tokens": 1}).status_code == status


def test_the_host_is_checked_where_no_key_is_asked_for_on_this_machine_and_where_names_are_given():
    assert allowed_hosts("127.0.0.1", (), ()) == allowed_hosts("localhost", (), ()) == ("127.0.0.1", "localhost", "::1")
    assert allowed_hosts("127.0.0.1", KEYS, ()) == allowed_hosts("0.0.0.0", (), ()) == ()
    assert allowed_hosts("0.0.0.0", KEYS, ("a.example:8000",)) == ("127.0.0.1", "localhost", "::1", "a.example")
