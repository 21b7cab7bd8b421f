"""Rights that are lost while streams are open: who reads how, and what takes the right away.

A scenario more is a function and a line in ``SCENARIOS``. Each has a team of its own on the host.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.acceptance.host import Host

SEED = """
import json
from django.contrib.auth.models import User
from django.test import Client
from agui_host.runtimes.models import Agent
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, Membership, Role, Team

def session(user):
    browser = Client()
    browser.force_login(user)
    return browser.session.session_key

root = User.objects.create_superuser("root")
seen = {"root": session(root)}
for name in %r:
    team = Team.objects.create(slug=name, name=name)
    Agent.objects.create(team=team, slug="scripted", name="Scripted", is_default=True)
    guests = Team.objects.create(slug=f"{name}-guests", name="Guests")
    house = {"team": str(team.pk), "name": name, "guests": str(guests.pk)}
    for who, where, role in (
        ("owner", team, Role.OWNER), ("reader", team, Role.MEMBER), ("guest", guests, Role.MEMBER)
    ):
        user = User.objects.create_user(f"{name}-{who}")
        row = Membership.objects.create(team=where, user=user, role=role)
        maker = user if who == "reader" else None  # the others' work on when they have left
        key, text = keys.create_key(where, who, role, created_by=maker)
        house[who] = {"key": text, "key_id": str(key.pk), "user": user.pk, "member": row.pk,
                      "session": session(user)}
    seen[name] = house
print(json.dumps(seen))
"""


@dataclass
class House:
    """One team of the host: an owner and a reader, a guest of another team, and the run."""

    host: Host
    root: str
    team: str
    name: str
    owner: dict[str, Any]
    reader: dict[str, Any]
    guests: str
    guest: dict[str, Any]
    run: str = ""
    grant: str = ""

    def by_key(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {getattr(self, who)['key']}"}

    def by_cookie(self, who: str) -> dict[str, str]:
        session = self.root if who == "root" else getattr(self, who)["session"]
        return {"Cookie": f"sessionid={session}", "Origin": self.host.url}

    def call(self, method: str, path: str, headers: dict[str, str], **body: Any) -> httpx.Response:
        url = f"{self.host.url}/api/v1/{path}"
        answer = httpx.request(method, url, headers=headers, json=body, timeout=60)
        assert answer.is_success, f"{answer.status_code} {answer.text}"
        return answer

    def start(self) -> None:
        """A run of the owner's that says one thing and goes on."""
        script = [{"text": "hello"}, {"forever": True}]
        input = {"forwardedProps": {"script": script}}
        answer = self.call("POST", "runs", self.by_key("owner"), agent="scripted", input=input)
        self.run = answer.json()["id"]

    def operate(self, page: str, **form: Any) -> None:
        """Post a form of Django's admin as its page shows it, with these fields changed."""
        url = f"{self.host.url}/admin/{page}/"
        with httpx.Client(headers=self.by_cookie("root"), timeout=60) as client:
            form_page = client.get(url)
            assert form_page.status_code == 200, form_page.text
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form_page.text)
            assert token
            cookie = f"{client.headers['cookie']}; csrftoken={form_page.cookies['csrftoken']}"
            fields = {name: value for name, value in form.items() if value is not None}
            data = {"csrfmiddlewaretoken": token[1], **_fields(form_page.text, form), **fields}
            done = client.post(url, data=data, headers={"cookie": cookie})
            assert done.status_code == 302, re.findall(r"errorlist.*?</ul>", done.text, re.S)


def _fields(page: str, form: dict[str, Any]) -> dict[str, str]:
    """The values that the page's text inputs hold, as a browser would send them."""
    values = {}
    for tag in re.findall(r"<input[^>]*>", page):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        name = attributes.get("name", "_")
        if attributes.get("type") in ("text", "hidden") and name not in form and name[0] != "_":
            values[name] = attributes.get("value", "")
    return values


def house_of(host: Host, seeded: dict[str, Any], name: str) -> House:
    return House(host, seeded["root"], **seeded[name])


def seed(host: Host, names: list[str]) -> dict[str, Any]:
    """Make the teams; what the readers and acts need to know of them."""
    return dict(json.loads(host.python(SEED % (names,)).splitlines()[-1]))


# --- how somebody reads: what to send, for each stream it opens

Opening = tuple[str, dict[str, str]]
"""A query to add to the address, and headers."""


def with_key(house: House) -> Opening:
    return "", house.by_key("reader")


def with_cookie(house: House) -> Opening:
    return "", house.by_cookie("reader")


def _ticket(house: House, headers: dict[str, str]) -> Opening:
    minted = house.call("POST", "tickets", headers, run=house.run)
    return f"ticket={minted.json()['ticket']}", {"Origin": "https://elsewhere.example"}


def with_ticket_of_key(house: House) -> Opening:
    return _ticket(house, house.by_key("reader"))


def with_ticket_of_cookie(house: House) -> Opening:
    return _ticket(house, house.by_cookie("reader"))


def with_grant(house: House) -> Opening:
    if not house.grant:
        owner = house.by_key("owner")
        made = house.call("POST", "grants", owner, run=house.run, to_team=house.guests)
        house.grant = made.json()["id"]
    return "", house.by_key("guest")


def with_personal_grant(house: House) -> Opening:
    """As a member of the other team, whose browser it is."""
    if not house.grant:
        guest = f"{house.name}-guest"
        to = {"to_team": house.guests, "member": guest}
        made = house.call("POST", "grants", house.by_key("owner"), run=house.run, **to)
        house.grant = made.json()["id"]
    return "", house.by_cookie("guest")


# --- what takes the right away


def revoke_key(house: House) -> None:
    house.call("POST", f"keys/{house.reader['key_id']}/revoke", house.by_key("owner"))


def rotate_key_at_once(house: House) -> None:
    path = f"keys/{house.reader['key_id']}/rotate"
    house.call("POST", path, house.by_key("owner"), overlap_hours=0)


def remove_member(house: House) -> None:
    house.call("DELETE", f"members/{house.reader['member']}", house.by_cookie("owner"))


def remove_guest(house: House) -> None:
    house.operate(f"teams/membership/{house.guest['member']}/delete", post="yes")


def leave(house: House) -> None:
    house.call("DELETE", f"members/{house.reader['member']}", house.by_cookie("reader"))


def archive_team(house: House) -> None:
    house.call("POST", f"teams/{house.team}/archive", house.by_cookie("owner"))


def revoke_grant(house: House) -> None:
    house.call("DELETE", f"grants/{house.grant}", house.by_key("owner"))


def delete_key(house: House) -> None:
    house.operate(f"teams/apikey/{house.reader['key_id']}/delete", post="yes")


def narrow_key(house: House) -> None:
    page = f"teams/apikey/{house.reader['key_id']}/change"
    house.operate(page, role="member", scopes="ingest")


def deactivate_person(house: House) -> None:
    house.operate(f"auth/user/{house.reader['user']}/change", is_active=None)


@dataclass(frozen=True)
class Scenario:
    """How the reader came, what takes its right away, and whether its team mates lose theirs."""

    name: str
    reader: Callable[[House], Opening]
    act: Callable[[House], None]
    for_all: bool = False


SCENARIOS = [
    Scenario("key-revoked", with_key, revoke_key),
    Scenario("key-rotated", with_key, rotate_key_at_once),
    Scenario("key-deleted-by-operator", with_key, delete_key),
    Scenario("key-narrowed-by-operator", with_key, narrow_key),
    Scenario("ticket-of-revoked-key", with_ticket_of_key, revoke_key),
    Scenario("member-removed", with_cookie, remove_member),
    Scenario("member-left", with_cookie, leave),
    Scenario("ticket-of-removed-member", with_ticket_of_cookie, remove_member),
    Scenario("key-of-removed-member", with_key, remove_member),
    Scenario("ticket-of-key-of-removed-member", with_ticket_of_key, remove_member),
    Scenario("grant-through-a-team-that-was-left", with_personal_grant, remove_guest),
    Scenario("person-deactivated", with_cookie, deactivate_person),
    Scenario("team-archived", with_key, archive_team, for_all=True),
    Scenario("grant-revoked", with_grant, revoke_grant),
    Scenario("team-of-the-grant-archived", with_grant, archive_team, for_all=True),
]
