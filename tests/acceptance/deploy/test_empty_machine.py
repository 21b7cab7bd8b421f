"""From an empty Debian to a team of five at work, by the blocks of docs/deploy.md as they are.

Real accounts, PostgreSQL, Redis, nginx with TLS and units' processes, in a machine of its own
(``machine``); ``doctor`` is the judge after each stage.
"""

import re
import ssl
from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.browser.test_two_browsers import CODE
from tests.acceptance.deploy.machine.empty import NAME, Machine, empty
from tests.acceptance.deployed import FAULT, OF_THE_PROXY
from tests.acceptance.host import wait_for
from tests.deploy.guide import blocks

PASSWORD = "five-horse-battery-staples"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
URL = f"https://{NAME}"
PEOPLE = ("alice", "bob", "carol", "dave", "erin")
DOCTOR = "agui-host doctor"
TEAM = """
cat > /etc/agui/host.yaml <<'END'
teams:
  acme:
    members: {bob@example.com: admin, carol@example.com: member, dave@example.com: member,
              erin@example.com: viewer}
END
"""
EDIT = """
sed -i 's|^EMAIL_URL=.*|EMAIL_URL=consolemail://|' /etc/agui/host.env
grep -qx 'AGUI_PUBLIC_URL=https://agents.example.com' /etc/agui/host.env
"""
COMMAND_OF_WEB = "tr '\\0' ' ' < /proc/$(cat /run/units/agui-web@8001.pid)/cmdline"
ASKED = {"messages": [{"id": "1", "role": "user", "content": "What is a journal?"}]}


def block(word: str) -> str:
    """The block of the section systemd with this word."""
    (only,) = [text for _, text in blocks()["systemd"] if word in text]
    return only


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with empty(tmp_path_factory.mktemp("machine")) as machine:
        yield machine


def faults(machine: Machine) -> list[str]:
    """The subjects of the doctor's faults."""
    return FAULT.findall(machine.type(f"{block(DOCTOR).strip()} || true"))


class Browser:
    """A person's browser without its pages' scripts."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine, self.name, self.address = machine, name, f"{name}@example.com"
        trust = ssl.create_default_context(cafile=str(machine.authority.ca))
        self.client = httpx.Client(
            base_url="https://127.0.0.1", verify=trust, timeout=60,
            headers={"Host": NAME, "Referer": f"{URL}/", "Origin": URL, "Accept": "text/html"},
        )  # fmt: skip

    def post(self, path: str, **fields: str) -> httpx.Response:
        """Send the form of a page."""
        self.client.get(path)
        token = self.client.cookies["csrftoken"]
        answer = self.client.post(path, data={"csrfmiddlewaretoken": token, **fields})
        assert answer.status_code == 302, answer.text
        return answer

    def join(self, link: str) -> None:
        """Sign up as invited, and join the team."""
        path = link.removeprefix(URL)
        assert self.address in self.client.get(path).text
        self.post("/signup/", username=self.name, email=self.address, password1=PASSWORD)
        self.post("/account/verify/", code=self._mailed_code())
        self.post(path)

    def _mailed_code(self) -> str:
        def codes() -> list[str]:
            logs = self.machine.type("cat /var/log/units/agui-web@*")
            mails = logs.split("Content-Type: text/plain")
            mine = [mail for mail in mails if f"To: {self.address}" in mail]
            return CODE.findall("\n".join(mine))

        wait_for(codes, f"a mail to {self.address}")
        return codes()[-1]

    def ask(self) -> str:
        """Start a run; its id."""
        token = {"X-CSRFToken": self.client.cookies["csrftoken"], "Accept": "application/json"}
        body = {"agent": "docs", "input": ASKED}
        answer = self.client.post("/api/v1/runs?wait=30", json=body, headers=token)
        assert '"succeeded"' in answer.text, answer.text
        return str(answer.json()["id"])

    def runs(self) -> set[str]:
        """The ids of the runs that this person sees."""
        json = {"Accept": "application/json"}
        return {
            run["id"] for run in self.client.get("/api/v1/runs", headers=json).json()["results"]
        }


def test_five_people_work_on_an_empty_machine(machine: Machine) -> None:
    machine.type(block("apt-get install -y python3-venv"))
    machine.type(block("install -m 0600 deploy/host.env.example") + EDIT)
    machine.type(block("daemon-reload"))
    assert faults(machine) == OF_THE_PROXY
    machine.type(block("nginx -t"))
    assert faults(machine) == []

    create = block("create-team")
    mails = machine.type(create)
    plan = create.replace('create-team acme --name "Acme" --owner alice@example.com', "{}")
    assert plan != create
    mails += machine.type(TEAM + plan.format("apply /etc/agui/host.yaml --keys /dev/null"))
    links = dict(zip(PEOPLE, re.findall(rf"^{URL}/invitations/\S+$", mails, re.M), strict=True))
    people = [Browser(machine, name) for name in PEOPLE]
    for person in people:
        person.join(links[person.name])
    runs = {person.ask() for person in people if person.name != "erin"}
    for person in people:
        assert person.runs() == runs, person.name
        person.client.close()
    install, _, restarts = block("/opt/agui-0.2.0").partition("systemctl")
    first = "restart agui-web@8001"
    assert first in restarts
    machine.type(f"{install}systemctl {first}")
    assert "/opt/agui-0.2.0/" in machine.type(COMMAND_OF_WEB)
    assert faults(machine) == []
