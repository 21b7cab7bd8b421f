"""The ways in which somebody who is out, or a revoked key, could get in again; each tried by HTTP.

A way more is a function and a line in ``WAYS``: it makes the access and returns what tries it.
Each has a team of its own on the host. ``reader`` is who leaves, an admin until then, and stays a
viewer of another team; ``guest`` is in that other team.
"""

import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.acceptance.host import Host, sse, wait_for
from tests.acceptance.revoking import House, remove_member, revoke_key

Opens = Callable[[], bool]
ADMIN = {"role": "admin", "scopes": ["read", "run", "admin"]}
PREPARE = """
from django.contrib.auth.models import User
from agui_host.runtimes.models import Agent
from agui_host.teams.models import ApiKey, Membership, Role, Scope, Team
for name in %r:
    reader = User.objects.get(username=f"{name}-reader")
    guests = Team.objects.get(slug=f"{name}-guests")
    Agent.objects.create(team=guests, slug="scripted", name="Scripted")
    team = Team.objects.get(slug=name)
    reader.memberships.update(role=Role.ADMIN)
    Membership.objects.create(team=guests, user=reader, role="viewer")
    mine = ApiKey.objects.for_team(team).filter(created_by=reader)
    mine.update(role=Role.ADMIN, scopes=list(Scope))
"""
NEWCOMER = """
from django.contrib.auth.models import User
from django.test import Client
from agui_host.teams.models import Membership, Team
User.objects.filter(username=%(login)r).update(username=%(login)r + "-before")
user = User.objects.create_user(%(login)r)
Membership.objects.create(team_id=%(team)r, user=user, role="member")
browser = Client()
browser.force_login(user)
print(browser.session.session_key)
"""


def prepare(host: Host, names: list[str]) -> None:
    """Make the readers of these houses admins, and viewers elsewhere."""
    host.python(PREPARE % (names,))


# --- what there is to see


def run_of(house: House, headers: dict[str, str], **input: Any) -> dict[str, Any]:
    """A run that is over."""
    body = {"forwardedProps": {"script": [{"text": "hello"}]}, **input}
    run = house.call(
        "POST", "runs", headers, agent="scripted", input=body, on_busy="enqueue"
    ).json()
    house.call("POST", f"runs/{run['id']}/cancel", headers)
    return dict(run)


def hidden(house: House, headers: dict[str, str]) -> tuple[dict[str, Any], str]:
    """A run in a thread that only its maker sees, and the thread's id."""
    run = run_of(house, headers)
    rows = house.call("GET", f"threads?thread_id={run['thread_id']}", headers).json()["results"]
    house.call("PATCH", f"threads/{rows[0]['id']}", headers, visibility="private")
    return run, str(rows[0]["id"])


def sees(house: House, run: dict[str, Any], headers: Callable[[], dict[str, str]]) -> Opens:
    url = f"{house.host.url}/api/v1/runs/{run['id']}"
    return lambda: httpx.get(url, headers=headers(), timeout=60).status_code == 200


def page_opens(url: str) -> Opens:
    return lambda: httpx.get(url, timeout=60).status_code == 200


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def minted(house: House, headers: dict[str, str]) -> dict[str, str]:
    made = house.call("POST", "keys", headers, name="minted", **ADMIN).json()
    return bearer(made["key"])


# --- the ways


def session(house: House) -> Opens:
    return sees(house, run_of(house, house.by_key("owner")), lambda: house.by_cookie("reader"))


def key(house: House) -> Opens:
    return sees(house, run_of(house, house.by_key("owner")), lambda: house.by_key("reader"))


def key_of_a_key(house: House) -> Opens:
    headers = minted(house, house.by_key("reader"))
    return sees(house, run_of(house, house.by_key("owner")), lambda: headers)


def ticket(house: House) -> Opens:
    """Opened once before; a reader who says where it was may open it again for a while."""
    run = run_of(house, house.by_key("owner"))
    made = house.call("POST", "tickets", house.by_cookie("reader"), run=run["id"]).json()
    url = f"{house.host.url}{made['events_url']}"
    back = {"Accept": "text/event-stream", "Last-Event-ID": "1"}
    return lambda: httpx.get(url, headers=back, timeout=60).status_code == 200


def fresh_ticket(house: House) -> Opens:
    """Not used before: each try takes the next one."""
    run = run_of(house, house.by_key("owner"))
    made = [
        house.call("POST", "tickets", house.by_cookie("reader"), run=run["id"]).json()
        for _ in range(2)
    ]
    accept = {"Accept": "text/event-stream"}

    def opens() -> bool:
        url = f"{house.host.url}{made.pop(0)['events_url']}"
        return httpx.get(url, headers=accept, timeout=60).status_code == 200

    return opens


def stream(house: House) -> Opens:
    house.start()
    url = f"{house.host.url}/api/v1/runs/{house.run}/events?after=0"
    headers = {**house.by_cookie("reader"), "Accept": "text/event-stream"}

    def read(began: Callable[[], None]) -> None:
        with (
            httpx.Client(timeout=600) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            for _, event in sse(answer.iter_lines()):
                if event.get("delta") == "hello":
                    began()

    return _open(read)


def socket(house: House) -> Opens:
    house.start()
    url = f"{house.host.url.replace('http', 'ws', 1)}/ws/runs/{house.run}/?after=0"

    def read(began: Callable[[], None]) -> None:
        headers = house.by_cookie("reader")
        with connect(url, additional_headers=headers) as opened, suppress(ConnectionClosed):
            for text in opened:
                if json.loads(text).get("delta") == "hello":
                    began()

    return _open(read)


def _open(read: Callable[[Callable[[], None]], None]) -> Opens:
    began = threading.Event()
    reader = threading.Thread(target=read, args=(began.set,), daemon=True)
    reader.start()
    assert began.wait(60), "the stream did not begin"
    return reader.is_alive


def private_thread(house: House) -> Opens:
    run, _ = hidden(house, house.by_cookie("reader"))
    return sees(house, run, lambda: house.by_cookie("reader"))


def grant_on_a_private_thread(house: House) -> Opens:
    """Also for a run that comes later; read as a viewer of the other team, too."""
    first, thread = hidden(house, house.by_cookie("owner"))
    to = {"thread": thread, "member": f"{house.name}-reader"}
    house.call("POST", "grants", house.by_cookie("owner"), **to)

    def reads() -> bool:
        later = run_of(house, house.by_cookie("owner"), threadId=first["thread_id"])
        runs = (first, later)
        return any(sees(house, run, lambda: house.by_cookie("reader"))() for run in runs)

    return reads


def grant_of_another_team(house: House) -> Opens:
    """A guest shared a run of a private thread with the reader as a member of the house."""
    run, _ = hidden(house, house.by_cookie("guest"))
    to = {"run": run["id"], "to_team": house.team, "member": f"{house.name}-reader"}
    house.call("POST", "grants", house.by_cookie("guest"), **to)
    return sees(house, run, lambda: house.by_cookie("reader"))


def link(house: House) -> Opens:
    return _link(house, house.by_cookie("reader"))


def link_of_a_key(house: House) -> Opens:
    return _link(house, house.by_key("reader"))


def _link(house: House, headers: dict[str, str]) -> Opens:
    run = run_of(house, house.by_key("owner"))
    return page_opens(house.call("POST", "grants", headers, run=run["id"]).json()["url"])


def grant_to_another_team(house: House) -> Opens:
    run = run_of(house, house.by_key("owner"))
    house.call("POST", "grants", house.by_cookie("reader"), run=run["id"], to_team=house.guests)
    return sees(house, run, lambda: house.by_key("guest"))


def invitation(house: House) -> Opens:
    return _invitation(house, house.by_cookie("reader"))


def invitation_of_a_key(house: House) -> Opens:
    return _invitation(house, house.by_key("reader"))


def _invitation(house: House, headers: dict[str, str]) -> Opens:
    """The mail is in the host's log, since it has no mail server."""
    address = f"{house.name}@example.com"
    house.call("POST", "invitations", headers, email=address, role="viewer")
    mail = re.compile(rf"^To: {address}$.*?/invitations/([\w-]+)/", re.MULTILINE | re.DOTALL)
    log = house.host.log_of
    wait_for(lambda: mail.search(log(house.host.web)), "the invitation's mail")
    link = mail.search(log(house.host.web))
    assert link
    return page_opens(f"{house.host.url}/invitations/{link[1]}/")


# --- what takes the right away


def give_the_login_to_somebody_else(house: House) -> None:
    """Who then tries is the newcomer, in the same team under the same login."""
    remove_member(house)
    names = {"login": f"{house.name}-reader", "team": house.team}
    house.reader["session"] = house.host.python(NEWCOMER % names).splitlines()[-1]


@dataclass(frozen=True)
class Way:
    """A way in, and what has to close it."""

    name: str
    make: Callable[[House], Opens]
    act: Callable[[House], None]


WAYS = [
    *(
        Way(f"removed-{make.__name__.replace('_', '-')}", make, remove_member)
        for make in (
            session, key, key_of_a_key, ticket, fresh_ticket, stream, socket, private_thread,
            grant_on_a_private_thread, grant_of_another_team, link, link_of_a_key,
            grant_to_another_team, invitation, invitation_of_a_key,
        )
    ),
    Way("reused-login", private_thread, give_the_login_to_somebody_else),
    *(
        Way(f"revoked-{make.__name__.replace('_', '-')}", make, revoke_key)
        for make in (key, key_of_a_key, link_of_a_key, invitation_of_a_key)
    ),
]  # fmt: skip
