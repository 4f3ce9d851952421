"""Who may open the page: other web pages, other names and other machines without the token are turned away."""

import re
import socket
import urllib.parse

import pytest
from websockets import Headers
from websockets.sync.client import connect

from bdis.cli.app import run
from bdis.video.stream.depth_stream import DepthStream
from bdis.viewer import Viewer
from bdis.viewer.access import Access

from .attack import opens
from .pages import StillSource, watching


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def status_of(url, path="/", **headers):
    """Status of the answer to a request, and its headers."""
    place = urllib.parse.urlsplit(url)
    lines = {"Host": place.netloc, **headers}
    request = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\n{request}\r\n".encode())
        answer = connection.recv(2000).decode(errors="replace")
    return int(answer.split()[1]), answer.partition("\r\n\r\n")[0]


@pytest.fixture(params=["0.0.0.0", "::", "127.0.0.2"])
def viewer(request, scene, rig):
    if ":" in request.param and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with watching(StillSource(scene, rig), at_end="wait", host=request.param) as viewer:
        yield viewer


def query_of(viewer):
    return urllib.parse.urlsplit(viewer.url).query


def test_a_domain_that_resolves_to_this_machine_is_refused(viewer):
    port = urllib.parse.urlsplit(viewer.url).port
    path = f"/?{query_of(viewer)}" if query_of(viewer) else "/"
    assert status_of(viewer.url, path)[0] == 200
    assert status_of(viewer.url, path, Host=f"trap.example.org:{port}")[0] == 403
    assert status_of(viewer.url, path, Origin="http://trap.example.org")[0] == 403
    trap = f"http://trap.example.org:{port}"
    assert status_of(viewer.url, path, Host=f"trap.example.org:{port}", Origin=trap)[0] == 403


def test_a_page_that_other_machines_reach_needs_its_token(scene, rig):
    with watching(StillSource(scene, rig), at_end="wait", host="0.0.0.0") as viewer:
        bare, _, token = viewer.url.partition("/?token=")
        assert len(token) >= 22
        for path in ("/", "/?token=", f"/?token={token[:-1]}", f"/?token={token}x", "/index.html"):
            assert status_of(bare, path)[0] == 401
        websocket = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                     "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
        assert status_of(bare, "/", **websocket)[0] == 401
        status, answer = status_of(bare, f"/?token={token}")
        assert status == 200
        cookie = re.search(r"Set-Cookie: ([^;]+); Path=/; HttpOnly; SameSite=Strict", answer)[1]
        assert status_of(bare, "/", Cookie=f"a=b; {cookie}", **websocket)[0] == 101
        assert status_of(bare, "/", Cookie=f"{cookie}x", **websocket)[0] == 401
        assert status_of(bare, "/", Cookie=cookie, Origin="http://trap.example.org", **websocket)[0] == 403
        assert opens(viewer)


def test_each_start_has_another_token_and_this_machine_alone_needs_none():
    assert Access("0.0.0.0", 80).token != Access("0.0.0.0", 80).token
    assert [Access(host, 80).token for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost")] == [""] * 4
    elsewhere = ("0.0.0.0", "::", "192.168.0.7", "or3.example.org", "127.0.0.1.nip.io")
    assert all(Access(host, 80).token for host in elsewhere)
    assert "token" not in repr(Access("0.0.0.0", 80))


@pytest.mark.parametrize(
    ("host", "name", "is_known"),
    [("127.0.0.1", "localhost", True), ("127.0.0.1", "[::1]", True), ("127.0.0.1", "LOCALHOST.", True),
     ("127.0.0.1", "192.168.0.7", False), ("127.0.0.1", "or3.example.org", True), ("127.0.0.2", "127.0.0.2", True),
     ("0.0.0.0", "192.168.0.7", True), ("0.0.0.0", "[fe80::1]", True), ("0.0.0.0", "or3.example.org", True),
     ("0.0.0.0", "or4.example.org", False), ("0.0.0.0", "192.168.0.7.nip.io", False), ("0.0.0.0", "", False),
     ("0.0.0.0", "[", False), ("0.0.0.0", "a b", False)],
)  # fmt: skip
def test_only_the_names_given_and_numbers_are_known(host, name, is_known):
    access = Access(host, 8080, ("OR3.example.org",))
    refusal = access.refusal(f"/?token={access.token}", Headers(Host=f"{name}:8080"))
    assert (refusal is None) == is_known


@pytest.mark.parametrize(
    "headers",
    [[], [("Host", "localhost"), ("Host", "localhost")], [("Host", "localhost"), ("Origin", "http://[")],
     [("Host", "localhost"), ("Origin", "http://localhost"), ("Origin", "http://trap.example.org")]],
    ids=str,
)  # fmt: skip
def test_odd_headers_are_refused_and_raise_nothing(headers):
    assert Access("127.0.0.1", 80).refusal("/", Headers(headers))[0] in (400, 403)


@pytest.mark.parametrize("query", ["websocket=ws://trap.example.org", "playbackPath=//trap.example.org/x", "x"])
def test_a_link_cannot_make_the_page_connect_elsewhere(query):
    assert Access("127.0.0.1", 80).refusal(f"/?{query}", Headers(Host="localhost"))[0] == 403
    assert Access("127.0.0.1", 80).refusal(f"/?token=&{query}", Headers(Host="localhost"))[0] == 403


def test_no_other_page_can_embed_this_one(scene, rig):
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        assert "frame-ancestors 'none'" in status_of(viewer.url)[1]


def test_the_page_with_a_token_works_in_a_browser_and_after_a_reload(scene, rig, open_page):
    with watching(StillSource(scene, rig), at_end="wait", host="0.0.0.0") as viewer:
        page = open_page(viewer)
        page.reload()
        page.get_by_text("Coverage").wait_for()


def test_a_browser_without_the_token_sees_nothing(scene, rig, chromium):
    with watching(StillSource(scene, rig), at_end="wait", host="0.0.0.0") as viewer:
        page = chromium.new_page()
        try:
            answer = page.goto(viewer.url.partition("?")[0])
            assert answer.status == 401
            assert "token" in page.inner_text("body")
        finally:
            page.close()


def test_the_command_prints_the_address_with_the_token_and_warns(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(Viewer, "serve", lambda viewer: seen.append((viewer.url, viewer.shared_url, opens(viewer))))
    scene = ["render:plane,height=48,width=64,frames=4", "--no-browser", "--port", "0", "--preset", "fast"]
    assert run(["view", *scene, "--host", "0.0.0.0", "--name", "or3.example.org"]) == 0
    printed = capsys.readouterr()
    ((url, shared, is_open),) = seen
    assert is_open
    assert url in printed.out
    assert shared in printed.out
    assert "token" in shared
    assert "whoever has this address" in printed.err
    assert run(["view", *scene]) == 0
    printed = capsys.readouterr()
    assert "token" not in printed.out
    assert "whoever" not in printed.err


def test_a_refused_version_prints_nothing_of_what_it_sent(scene, rig, capfd):
    with Viewer(DepthStream(StillSource(scene, rig)), port=0) as viewer:
        place = viewer.url.replace("http", "ws")
        with connect(place, subprotocols=["viser-vtrap"]) as client, pytest.raises(Exception, match="another version"):
            client.recv(timeout=5)
        assert opens(viewer)
    assert "trap" not in "".join(capfd.readouterr())
