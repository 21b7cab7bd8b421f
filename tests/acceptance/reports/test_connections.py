"""Headers, sockets, tabs, webhooks and schedules.

Each test is a public report about some host or client, named in its first line.
"""

import asyncio
import calendar
import datetime
import http.server
import itertools
import json
import threading
import time
import urllib.parse
from zoneinfo import ZoneInfo

import websockets
from playwright.sync_api import sync_playwright
from standardwebhooks import Webhook

from tests import needs
from tests.acceptance.reports.talk import (
    PLACE,
    Fail,
    body,
    find_run,
    http_call,
    need,
    play,
    raw_socket,
    uid,
    user,
)


def test_no_transform():
    """Th0rgal/sandboxed.sh#419.

    Cache-Control says no-transform, so that compressing proxies leave the stream alone.
    """
    out = []
    _, response = http_call("POST", "/agui/agent/case-play/run", body(), raw=True)
    response.read()
    out.append(response.getheader("cache-control"))
    _connection, response = http_call(
        "POST", "/v1/responses", {"model": "case-play", "input": "hi", "stream": True}, raw=True
    )
    response.read()
    out.append(response.getheader("cache-control"))
    need(all("no-transform" in (x or "") for x in out), f"Cache-Control: {out}")


def test_cors_expose():
    """JSONbored/metagraphed#1691: a page of another origin can read the headers it needs."""
    out = {}
    for name, method, path, data, want in (
        (
            "start",
            "POST",
            "/agui/agent/case-play/run",
            body(),
            ("content-location", "x-request-id"),
        ),
        ("404", "POST", "/agui/agent/nobody/run", body(), ("x-request-id",)),
        ("api", "GET", "/api/v1/runs", None, ("x-request-id",)),
        ("download", "GET", None, None, ("content-disposition",)),
    ):
        if path is None:
            run_ = (
                find_run(body()["threadId"])
                or http_call("GET", "/api/v1/runs?limit=1")[1]["results"]
            )
            path = f"/api/v1/runs/{run_[0]['id']}/export"
        _connection, response = http_call(
            method, path, data, {"Origin": "http://app.example"}, raw=True
        )
        response.read()
        exposed = (response.getheader("access-control-expose-headers") or "").lower()
        out[name] = (
            response.status,
            response.getheader("access-control-allow-origin"),
            exposed,
            [h for h in want if response.getheader(h) and h not in exposed],
        )
    need("retry-after" in out["api"][2], "retry-after is not exposed")
    need(
        not any(v[3] for v in out.values()),
        f"not exposed: {[(k, v[3]) for k, v in out.items() if v[3]]}",
    )


def test_seven_tabs():
    """freenet/freenet-core#5213.

    Seven tabs with a live run each, over HTTP/1.1.
    """
    _, row = http_call(
        "POST", "/api/v1/runs", {"agent": "case-slow", "input": body(props={"n": 120, "every": 1})}
    )
    try:
        with sync_playwright() as p:
            browser = p.chromium.launch(
                executable_path=str(needs.need("chromium")),
                args=["--no-sandbox"],
            )
            context = browser.new_context(base_url=PLACE.url)
            context.set_default_timeout(30_000)
            page = context.new_page()
            page.goto("/login/")
            page.locator("input[name=login]").fill("demo")
            page.locator("input[type=password]").fill(PLACE.password)
            page.locator("input[type=password]").press("Enter")
            page.wait_for_url(lambda u: "/login" not in u)
            for n in range(1, 9):
                tab = context.new_page()
                try:
                    tab.goto(f"/runs/{row['id']}/", wait_until="domcontentloaded")
                    tab.wait_for_timeout(1000)
                except Exception:
                    raise Fail(f"tab {n} never loads, nor does any other page") from None
    finally:
        http_call("POST", f"/api/v1/runs/{row['id']}/cancel")


def test_expect_continue():
    """eclipse-ee4j/glassfish-grizzly#2222.

    Expect: 100-continue with a chunked body: the 100 comes before the body.
    """
    data = json.dumps(body([user("x" * 2000)])).encode()
    head = (
        f"POST /agui/agent/case-play/run HTTP/1.1\r\nHost: 127.0.0.1:{PLACE.port}\r\n"
        f"Authorization: Bearer {PLACE.key}\r\nContent-Type: application/json\r\n"
        "Accept: text/event-stream\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunks = [
        f"{len(data[:700]):x}\r\n".encode() + data[:700] + b"\r\n",
        f"{len(data[700:]):x}\r\n".encode() + data[700:] + b"\r\n0\r\n\r\n",
    ]
    got, out = raw_socket(head, chunks, wait=4)
    need(got.startswith(b"HTTP/1.1 100"), f"no 100 within 4 s before the body: {got[:60]!r}")
    need(b"RUN_FINISHED" in out, out[-300:].decode(errors="replace"))


def test_strange_thread_ids():
    """bytedance/deer-flow#4302.

    Thread ids with # ? / % and blanks on every route that has one in its path.
    """
    bad = []
    for name in (
        "thread#1?draft",
        "a/b",
        "a%2Fb",
        "space here",
        "übung-线程-🧵",
        "..",
        "a;b=c",
        "plus+plus",
        "dot.",
        "a\\b",
        "'\"<x>",
        "x" * 200,
    ):
        thread = f"{name}-{uid()}" if name != ".." else ".."
        quoted = urllib.parse.quote(thread, safe="")
        try:
            play([{"say": "ok"}], thread)
        except Fail as f:
            bad.append((name, "run", str(f)[:100]))
            continue
        for method, path, ok in (
            ("GET", f"/agui/threads/{quoted}/messages", 200),
            ("GET", f"/agui/threads/{quoted}/events", 200),
            ("GET", f"/agui/threads/{quoted}/state", 200),
            ("POST", f"/agui/agent/case-play/stop/{quoted}", 200),
            ("GET", f"/api/chat/case-play/{quoted}", 200),
            ("GET", f"/api/chat/case-play/{quoted}/stream", 204),
            ("GET", f"/agui/agent/case-play/run?threadId={quoted}", 200),
            ("GET", f"/api/v1/runs?thread_id={quoted}", 200),
        ):
            try:
                status, data = http_call(method, path)
            except Exception as e:
                bad.append((name, path.replace(quoted, "{id}"), repr(e)[:80]))
                continue
            empty = (
                (path.endswith("/messages") and not data.get("messages"))
                or ("/api/chat" in path and status == 200 and data == [])
                if isinstance(data, (dict, list))
                else False
            )
            if status not in (ok, 202) or empty:
                bad.append((name, path.replace(quoted, "{id}"), status, str(data)[:80]))
    need(not bad, f"{len(bad)} of them: {bad[:3]}")


def test_webhook_retry():
    """sandbaseai/sandbase-harness#313.

    Webhook retries: same id, fresh timestamp, valid signature.
    """
    got = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            data = self.rfile.read(int(self.headers["content-length"]))
            got.append((time.time(), {k.lower(): v for k, v in self.headers.items()}, data))
            self.send_response(503 if len(got) < 3 else 204)
            self.end_headers()

        def log_message(self, *a):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    status, hook = http_call(
        "POST",
        "/api/v1/webhooks",
        {
            "url": f"http://localhost:{server.server_port}/h",
            "events": ["run.succeeded"],
            "agents": ["case-play"],
            "contents": True,
        },
    )
    need(status == 201, f"{status} {hook}")
    try:
        play([{"result": {"text": "é 你好 🧵 \u2028 </script>"}}, {"say": "x"}])
        for _ in range(300):
            if len(got) >= 3:
                break
            time.sleep(0.1)
        need(len(got) >= 3, f"{len(got)} tries")
        ids = {h["webhook-id"] for _, h, _ in got}
        for at, h, data in got:
            Webhook(hook["secret"]).verify(data, h)
            need(
                abs(at - int(h["webhook-timestamp"])) < 3,
                f"stale timestamp by {at - int(h['webhook-timestamp'])}",
            )
        need(len(ids) == 1, str(ids))
        need(
            json.loads(got[0][2])["data"].get("result") == {"text": "é 你好 🧵 \u2028 </script>"},
            got[0][2][:300],
        )
    finally:
        server.shutdown()
        server.server_close()
        http_call("DELETE", f"/api/v1/webhooks/{hook['id']}")


def test_ws_close_reason():
    """emmett-framework/granian#645: a refused socket: close code and reason reach the client."""

    async def go():
        out = []
        for path, auth in (
            ("/ws/runs/00000000-0000-0000-0000-000000000000/", True),
            ("/ws/", False),
        ):
            try:
                async with websockets.connect(
                    PLACE.url.replace("http", "ws") + path,
                    additional_headers={"Authorization": f"Bearer {PLACE.key if auth else 'x'}"},
                ) as w:
                    await asyncio.wait_for(w.recv(), 5)
            except websockets.ConnectionClosed as e:
                out.append((e.rcvd.code, e.rcvd.reason))
            except Exception as e:
                out.append(repr(e))
        return out

    out = asyncio.run(go())
    need(out[0][0] == 4404 and out[1][0] == 4401, str(out))
    need(all(r for _, r in out), f"no reason: {out}")


def test_dst():
    """use-agent-os/agent-os#2472, Hexagon/croner#343: crons over both changes of the clock."""

    def runs(cron):
        status, s = http_call(
            "POST",
            "/api/v1/schedules",
            {
                "agent": "case-play",
                "cron": cron,
                "time_zone": "Europe/Berlin",
                "input": {"messages": []},
                "name": uid(),
            },
        )
        need(status == 201, f"{status} {s}")
        http_call("DELETE", f"/api/v1/schedules/{s['id']}")
        return s["next_runs"]

    berlin = ZoneInfo("Europe/Berlin")

    def day(texts, month, d):
        at = [datetime.datetime.fromisoformat(t.replace("Z", "+00:00")) for t in texts]
        return [
            t for t in at if (t.astimezone(berlin).month, t.astimezone(berlin).day) == (month, d)
        ]

    year = datetime.datetime.now(datetime.UTC).year + 1

    def last(m):
        return max(w[6] for w in calendar.monthcalendar(year, m))

    spring, autumn = last(3), last(10)
    need(len(day(runs(f"30 2 {spring} 3 *"), 3, spring)) >= 1, "skipped in spring")
    got = [t for t in day(runs(f"30 2 {autumn} 10 *"), 10, autumn) if t.year == year]
    need(len(got) == 1, f"{len(got)} times in autumn")
    hours = [t for t in day(runs(f"0 * {autumn} 10 *"), 10, autumn) if t.year == year]
    need(all((b - a).total_seconds() == 3600 for a, b in itertools.pairwise(hours)), str(hours))
