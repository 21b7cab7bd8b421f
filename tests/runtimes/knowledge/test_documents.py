"""Documents: what may be uploaded, how it is cut, what a question finds."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from pytest_django import Settings

from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import HostError
from agui_host.runtimes.knowledge import documents
from agui_host.runtimes.knowledge.chunking import MOST, pieces
from agui_host.runtimes.models import Document, DocumentChunk
from agui_host.teams.models import AuditEntry
from tests.asgi import ask_now
from tests.cast import Actor, Cast

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/api/v1/documents"


def upload(actor: Actor, title: str, text: str, media_type: str = "text/plain") -> Document:
    values = {"title": title, "media_type": media_type, "text": text}
    return documents.upload(actor.principal, values)


def titles(cast: Cast, question: str, most: int = 5) -> list[str]:
    return [chunk.document.title for chunk in documents.search(cast.team, question, most)]


class TestPieces:
    def test_markdown_is_cut_at_its_headings(self) -> None:
        text = "Before.\n# Fees\nTen.\n## Late\nTwenty.\n"
        assert list(pieces("guide", "text/markdown", text)) == [
            ("", "Before."), ("Fees", "Ten."), ("Fees › Late", "Twenty."),
        ]  # fmt: skip

    def test_each_piece_of_a_table_has_its_header(self) -> None:
        rows = [f"{number},{'x' * 40}" for number in range(200)]
        cut = list(pieces("t", "text/csv", "\r\n".join(["id,name", *rows])))
        assert len(cut) > 1
        assert all(text.startswith("id,name\n") for _, text in cut)
        assert [row for _, text in cut for row in text.split("\n")[1:]] == rows

    @pytest.mark.parametrize("text", ["word " * 5_000, "x" * 10_000, "line of text\n\n" * 900])
    def test_nothing_is_lost_and_no_piece_is_too_long(self, text: str) -> None:
        cut = [piece for _, piece in pieces("t", "text/plain", text)]
        assert max(map(len, cut)) <= MOST
        assert "".join("".join(cut).split()) == "".join(text.split())

    def test_only_a_header_and_nothing(self) -> None:
        assert list(pieces("t", "text/csv", "id,name\n")) == [("", "id,name")]
        assert list(pieces("t", "text/csv", "")) == []


class TestSearch:
    def test_the_best_comes_first_and_a_heading_counts_more(self, cast: Cast) -> None:
        upload(cast.alice, "chat", "Somebody once spoke about refunds.")
        upload(cast.alice, "rules", "# Refunds\nWithin ten days.", "text/markdown")
        upload(cast.alice, "else", "Nothing of that kind.")
        assert titles(cast, "refunds") == ["rules", "chat"]
        assert titles(cast, "refunds", most=1) == ["rules"]

    def test_a_question_finds_what_has_only_some_of_its_words(self, cast: Cast) -> None:
        upload(cast.alice, "contract", "A late payment costs two percent.")
        assert titles(cast, "What does our contract say about late payments, please?") == [
            "contract"
        ]

    @pytest.mark.parametrize(
        "question", ["", "\x00", "\ud800", "' or 1=1 --", "the", "!!! (", "-a"]
    )
    def test_odd_questions_find_nothing_and_do_no_harm(self, cast: Cast, question: str) -> None:
        upload(cast.alice, "contract", "A late payment costs two percent.")
        assert titles(cast, question) == []

    def test_another_teams_documents_are_not_found(self, cast: Cast) -> None:
        upload(cast.charlie, "theirs", "refunds")
        assert titles(cast, "refunds") == []

    def test_it_can_use_the_index(self, cast: Cast) -> None:
        upload(cast.alice, "rules", "refunds")
        with connection.cursor() as cursor:
            cursor.execute("set enable_seqscan = off")
            rows = DocumentChunk.objects.filter(search="refunds")
            assert "chunk_search" in rows.explain()
            cursor.execute("reset enable_seqscan")


class TestApi:
    def test_up_listed_and_gone_and_the_log_says_so(self, cast: Cast) -> None:
        body = {"title": "Rules", "media_type": "text/plain", "text": "  refunds: déjà vu\n"}
        made = ask_now("POST", LIST, cast.alice.headers, json=body)
        assert made.status == 201, made.body
        row = made.json
        assert row["size"] == len(body["text"].encode())
        assert row["uploaded_by"] == f"key:{cast.alice.key_prefix}"
        assert row["created_at"]
        one = f"{LIST}/{row['id']}"
        assert ask_now("GET", LIST, cast.vera.headers).json["results"] == [row]
        assert ask_now("GET", one, cast.vera.headers).json == row
        assert Document.objects.get().text == body["text"]
        assert ask_now("DELETE", one, cast.charlie.headers).status == 404
        assert ask_now("DELETE", one, cast.bob.headers).status == 403
        assert ask_now("DELETE", one, cast.alice.headers).status == 204
        assert ask_now("GET", one, cast.alice.headers).status == 404
        assert not DocumentChunk.objects.exists()
        acts = AuditEntry.objects.for_team(cast.team).filter(target=row["id"]).order_by("id")
        assert [line.action for line in acts] == ["document.uploaded", "document.deleted"]
        assert "refunds" not in acts[0].details

    @pytest.mark.parametrize("who", ["bob", "vera"])
    def test_who_may_not_upload(self, cast: Cast, who: str) -> None:
        with pytest.raises(Forbidden):
            upload(getattr(cast, who), "t", "text")

    @pytest.mark.parametrize(
        ("more", "code"),
        [
            ({"media_type": "application/pdf"}, "invalid"),
            ({"text": "a\x00b"}, "bad_json"),
            ({"text": "\ud800"}, "bad_json"),
            ({"text": " \n "}, "invalid"),
            ({"title": "\x00"}, "bad_json"),
            ({"text": "é" * 60}, "too_large"),
        ],
        ids=repr,
    )
    def test_what_is_refused(
        self, cast: Cast, settings: Settings, more: dict[str, str], code: str
    ) -> None:
        settings.AGUI_DOCUMENT_MAX_BYTES = 100
        body = {"title": "t", "text": "x", **more}
        answer = ask_now("POST", LIST, cast.alice.headers, json=body)
        assert answer.code == code, answer.body
        assert not Document.objects.exists()

    def test_a_team_has_only_so_many(self, cast: Cast, settings: Settings) -> None:
        settings.AGUI_DOCUMENTS_MAX = 1
        upload(cast.charlie, "theirs", "x")
        upload(cast.alice, "one", "x")
        with pytest.raises(HostError) as refused:
            upload(cast.alice, "two", "x")
        assert refused.value.code == "knowledge_full"
        assert Document.objects.for_team(cast.team).count() == 1

    def test_strangers_find_none(self, cast: Cast) -> None:
        row = upload(cast.alice, "t", "x")
        with pytest.raises(NotFound):
            documents.find(cast.charlie.principal, row.pk)


class TestAdmin:
    @pytest.fixture
    def operator(self, db: None, django_user_model: type) -> Client:
        client = Client()
        client.force_login(django_user_model.objects.create_superuser("root"))  # type: ignore[attr-defined]
        return client

    @pytest.mark.parametrize(
        ("content", "ok"), [(b"# Fees\nTen.", True), (b"\xff", False), (b"a\0b", False)]
    )
    def test_an_operator_uploads_a_file(
        self, cast: Cast, operator: Client, content: bytes, ok: bool
    ) -> None:
        form = {"team": str(cast.team.pk), "title": "Rules", "media_type": "text/markdown"}
        file = SimpleUploadedFile("rules.md", content)
        answer = operator.post("/admin/runtimes/document/add/", {**form, "file": file})
        assert answer.status_code == (302 if ok else 200)
        assert Document.objects.exists() is ok
        assert titles(cast, "fees") == (["Rules"] if ok else [])
        assert AuditEntry.objects.filter(action="admin.added").exists() is ok
        assert operator.get("/admin/runtimes/document/").status_code == 200
