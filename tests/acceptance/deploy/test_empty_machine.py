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
from tests.acceptance.deploy.people import Person, work
from tests.acceptance.deployed import FAULT
from tests.acceptance.host import wait_for
from tests.deploy.guide import blocks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
URL = f"https://{NAME}"
PEOPLE = ("alice", "bob", "carol", "dave", "erin")
DOCTOR = "agui-host doctor"
OF_THE_PROXY = ["public url", "certificate", "websockets", "streams"]
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


def person(machine: Machine, name: str) -> Person:
    """Somebody with a browser that trusts the machine's authority."""
    trust = ssl.create_default_context(cafile=str(machine.authority.ca))
    client = httpx.Client(
        base_url="https://127.0.0.1", verify=trust, timeout=60, headers={"Host": NAME}
    )

    def mailed(address: str) -> str:
        def codes() -> list[str]:
            logs = machine.type("cat /var/log/units/agui-web@*")
            mails = logs.split("Content-Type: text/plain")
            mine = [mail for mail in mails if f"To: {address}" in mail]
            return CODE.findall("\n".join(mine))

        wait_for(codes, f"a mail to {address}")
        return codes()[-1]

    return Person(name, URL, client, mailed)


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
    people = [person(machine, name) for name in PEOPLE]
    for each in people:
        each.join(links[each.name])
    work(people, watching="erin")
    install, _, restarts = block("/opt/agui-0.2.0").partition("systemctl")
    first = "restart agui-web@8001"
    assert first in restarts
    machine.type(f"{install}systemctl {first}")
    assert "/opt/agui-0.2.0/" in machine.type(COMMAND_OF_WEB)
    assert faults(machine) == []
