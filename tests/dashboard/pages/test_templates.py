"""Rules that every template keeps: it compiles, and names people as people do."""

import re
from pathlib import Path

import pytest
from django.template.loader import get_template

from agui_host.dashboard.templatetags.dashboard import person, program

ROOT = Path(__file__).parents[3] / "templates"
TEMPLATES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.suffix in (".html", ".txt")
)
LABEL = re.compile(
    r"\{\{\s*([\w.]*(?:created_by|invited_by|runs_as|author|answered_by|claimed_by|started_by"
    r"|resolved_by|revoked_by))\s*[|}]([^}]*)"
)
"""A variable that holds ``user:alice``, in a text or an attribute, and its filters."""
VALUE = re.compile(r"""value="$""")


def raw(text: str) -> list[str]:
    """The labels that people would read as the host stores them."""
    labels = [(match, text[: match.start()]) for match in LABEL.finditer(text)]
    return [
        match[0]
        for match, before in labels
        if "person" not in match[2] and not VALUE.search(before)
    ]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_compiles_and_shows_no_labels(name: str) -> None:
    get_template(name)
    # ``created_by`` of a key is an account, not a label.
    assert [each for each in raw((ROOT / name).read_text()) if "get_username" not in each] == []


FORM = re.compile(r"<form\b(.*?)</form>", re.DOTALL)
OF_SCRIPTS = {"runs/share.html"}
"""Their buttons appear with the scripts that serve them."""
OF_ALLAUTH = {"allauth/elements/form.html"}
"""Its method and token come from the pages of django-allauth."""

OF_SAML = {"account/arriving.html"}
"""Its address takes no token: the request that the session holds is the proof."""


@pytest.mark.parametrize("name", sorted({*TEMPLATES} - OF_SCRIPTS - OF_ALLAUTH - OF_SAML))
def test_a_form_works_without_scripts(name: str) -> None:
    """It has a method, and one that posts has the token; else only a script could send it."""
    for form in FORM.findall((ROOT / name).read_text()):
        searches = 'method="get"' in form or 'role="search"' in form
        assert searches or ('method="post"' in form and "csrf_token" in form), form[:100]


def test_a_raw_label_is_found() -> None:
    assert raw("<b>{{ row.created_by }}</b>") == ["{{ row.created_by }"]
    assert raw('{{ row.created_by|person }} <input value="{{ filters.started_by }}">') == []


def test_names_for_people() -> None:
    assert [person(label) for label in ("user:alice", "key:abcd1234", "host")] == [
        "alice", "key abcd1234", "host",
    ]  # fmt: skip
    chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36"
    assert [program(each) for each in (chrome, f"{chrome} Edg/1", "curl/8", "")] == [
        "Chrome on Linux", "Edge on Linux", "curl/8", "",
    ]  # fmt: skip
