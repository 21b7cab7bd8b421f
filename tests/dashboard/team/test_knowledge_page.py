"""The page of documents, notes and the visitor's profile: added, shown to members, deleted."""

from html import escape

import pytest
from pytest_django import Settings

from agui_host.runtimes.knowledge import documents, notes
from tests.cast import Cast
from tests.dashboard.conftest import SURE, Browse

pytestmark = pytest.mark.django_db
PAGE = "/team/knowledge/"
RULES = {"save": "document", "title": "<b>Rules", "media_type": "text/markdown",
         "text": "# Refunds\r\nWithin ten days."}  # fmt: skip


def test_an_admin_adds_and_deletes_and_members_read(cast: Cast, browse: Browse) -> None:
    owner, member = browse(cast.alice), browse(cast.bob)
    assert owner.post(PAGE, RULES).status_code == 302
    assert owner.post(PAGE, {"save": "note", "note": "Be <i>brief.\r\nAlways."}).status_code == 302
    document = documents.visible(cast.alice.principal).get()
    assert document.text == "# Refunds\nWithin ten days."
    note = notes.wisdom(cast.alice.principal).get()
    for text in (owner.get(PAGE).content.decode(), member.get(PAGE).content.decode()):
        assert "&lt;b&gt;Rules" in text
        assert "Be &lt;i&gt;brief.<br>Always." in text
    assert "Add a document" not in member.get(PAGE).content.decode()
    removals = (f"/team/documents/{document.pk}/remove", f"/team/notes/{note.pk}/remove")
    for address in removals:
        assert member.post(address, SURE).status_code == 403
        assert browse(cast.charlie).post(address, SURE).status_code == 404
        assert "Delete this" in owner.post(address).content.decode()
        assert owner.post(address, SURE).headers["location"] == PAGE
    assert not documents.visible(cast.alice.principal).exists()
    assert not notes.wisdom(cast.alice.principal).exists()


@pytest.mark.parametrize("form", [RULES, {"save": "note", "note": "x"}])
def test_members_add_nothing(cast: Cast, browse: Browse, form: dict[str, str]) -> None:
    assert browse(cast.bob).post(PAGE, form).status_code == 403
    assert not documents.visible(cast.alice.principal).exists()
    assert not notes.wisdom(cast.alice.principal).exists()


def test_everybody_has_a_profile_of_their_own(cast: Cast, browse: Browse) -> None:
    vera = browse(cast.vera)
    vera.post(PAGE, {"save": "profile", "about": "I speak Czech."})
    assert notes.about(cast.vera.principal) == "I speak Czech."
    assert "I speak Czech." in vera.get(PAGE).content.decode()
    assert "I speak Czech." not in browse(cast.alice).get(PAGE).content.decode()
    vera.post(PAGE, {"save": "profile", "about": ""})
    assert notes.about(cast.vera.principal) == ""


@pytest.mark.parametrize(
    "form",
    [
        RULES | {"text": " "},
        RULES | {"title": ""},
        RULES | {"title": "x" * 201},
        RULES | {"media_type": "application/pdf"},
        RULES | {"text": "x" * 101},
        {"save": "note", "note": "x" * 4001},
        {"save": "profile", "about": "x" * 4001},
    ],
)
def test_a_form_that_is_refused_comes_back_with_its_text(
    cast: Cast, browse: Browse, settings: Settings, form: dict[str, str]
) -> None:
    settings.AGUI_DOCUMENT_MAX_BYTES = 100
    answer = browse(cast.alice).post(PAGE, form)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'role="alert"' in page
    texts = [escape(form.get(name, "").strip()) for name in ("text", "note", "about", "title")]
    assert [text for text in texts if text not in page] == []


def test_what_is_no_form_changes_nothing(cast: Cast, browse: Browse) -> None:
    assert browse(cast.alice).post(PAGE, {"save": "team", "title": "x"}).status_code == 302
