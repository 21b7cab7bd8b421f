"""The documentation at ``/docs/``: every page, no dead link, no page of another's making."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from django.test import Client
from pytest_django import Settings

from agui_host.dashboard.manual import files, rendering

pytestmark = pytest.mark.django_db


class Links(HTMLParser):
    """The addresses that a page leads to, and its anchors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.leads: set[str] = set()
        self.ids: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.leads.add(value)
            elif name == "id" and value:
                self.ids.add(value)


def body(client: Client, address: str) -> bytes:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def test_no_link_is_dead(client: Client) -> None:
    """From the front page through every page that it leads to; anchors too."""
    anchors: dict[str, set[str]] = {}
    waiting, targets = {"/docs/"}, set()
    while waiting:
        address = waiting.pop()
        text = body(client, address)
        links = Links(text.decode()) if address == "/docs/" or address.endswith(".md") else None
        anchors[address] = links.ids if links else set()
        for lead in links.leads if links else ():
            target, fragment = urldefrag(urljoin(address, lead))
            if target.startswith("/docs/"):
                targets.add((target, fragment))
                waiting |= {target} - anchors.keys()
    assert {name for name in files.served() if name.endswith(".md")} >= {
        name.removeprefix("/docs/") for name in anchors if name.endswith(".md")
    }
    assert len(anchors) > 60
    assert [each for each in sorted(targets) if each[1] and each[1] not in anchors[each[0]]] == []


def test_a_page_is_named_by_its_heading_and_marked_in_the_list(client: Client) -> None:
    text = body(client, "/docs/quickstart.md").decode()
    assert re.search(r"<title>Quick start", text)
    assert 'href="/docs/quickstart.md" aria-current="page"' in text


def test_a_search_leads_to_sections(client: Client) -> None:
    text = body(client, "/docs/?q=invite+a+colleague").decode()
    assert "/docs/howto-people.md#" in text
    assert "0 sections" in body(client, "/docs/?q=xyzzy").decode()
    assert "<script>alert" not in body(client, "/docs/?q=<script>alert(1)</script>").decode()


@pytest.mark.parametrize(
    "name", ["nothing.md", "../manage.py", "..%2fmanage.py", "images", "adr/", "%00", "x" * 2_000]
)
def test_what_is_no_page_is_404(client: Client, name: str) -> None:
    assert client.get(f"/docs/{name}").status_code in (301, 404)
    assert client.post("/docs/quickstart.md").status_code == 405


def test_a_page_cannot_bring_html(tmp_path: Path, settings: Settings) -> None:
    settings.BASE_DIR = tmp_path
    page = tmp_path / "docs" / "a.md"
    page.parent.mkdir()
    page.write_text(
        "# A\n\n<script>1</script> [x](javascript:alert(1)) [gone](b.md) [web](https://a.example)"
        "\n\n## A\n"
    )
    html = rendering.rendered(page, "/docs/").html
    assert "<script>" not in html
    assert "javascript:alert" not in re.findall(r'href="([^"]*)"', html)
    assert "<a>gone</a>" in html
    assert 'href="https://a.example"' in html
    assert 'id="a-1"' in html
