"""The page of the documents and notes for the team's agents, and of the visitor's profile."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.forms import submitted
from agui_host.dashboard.pages import Question, action, both
from agui_host.runtimes.knowledge import documents, notes
from agui_host.runtimes.knowledge.models import NOTE, MediaType
from agui_host.teams.authentication import Principal

MOST = 200
PROFILE = "profile"


class DocumentForm(forms.Form):
    """A new document, as text; the verb decides about its size."""

    title = forms.CharField(label="Title", max_length=200)
    media_type = forms.ChoiceField(
        label="Type", choices=MediaType.choices, initial=MediaType.MARKDOWN
    )
    text = forms.CharField(
        label="Text", strip=False, widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"})
    )


class NoteForm(forms.Form):
    """A note for all agents that use the provider ``wisdom``."""

    note = forms.CharField(label="Note", max_length=NOTE, widget=forms.Textarea(attrs={"rows": 3}))


class ProfileForm(forms.Form):
    """A text about the visitor, for agents; empty for none."""

    about = forms.CharField(
        label="About you",
        max_length=NOTE,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


@both
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The documents and notes, the profile, and the forms; ``save`` names the form that is sent."""
    if request.method != "POST":
        return _page(request, principal)
    for name, (form_of, save) in SAVED.items():
        if request.POST.get("save") == name:
            if name != PROFILE:
                principal.require("manage_agents")
            form = form_of(request.POST)
            saved = submitted(form, partial(save, principal))
            return _page(request, principal, name, form) if saved is None else _back()
    return _back()


@action(
    "team-knowledge",
    asks=Question(
        "Delete this document?", "Agents get no more of it. Runs keep what they got.", "Delete"
    ),
)
def remove_document(request: HttpRequest, principal: Principal, document_id: UUID) -> HttpResponse:
    """Delete a document."""
    documents.delete(principal, document_id)
    return _back()


@action(
    "team-knowledge",
    asks=Question("Delete this note?", "Agents are no longer told it.", "Delete"),
)
def remove_note(request: HttpRequest, principal: Principal, note_id: UUID) -> HttpResponse:
    """Delete a note."""
    notes.delete(principal, note_id)
    return _back()


def _upload(principal: Principal, fields: dict[str, Any]) -> object:
    # Browsers send line ends as CR LF.
    return documents.upload(principal, fields | {"text": _lines(fields["text"])})


def _write(principal: Principal, fields: dict[str, Any]) -> object:
    return notes.write(principal, _lines(fields["note"]))


def _describe(principal: Principal, fields: dict[str, Any]) -> object:
    return notes.describe(principal, _lines(fields["about"]))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


Save = Callable[[Principal, dict[str, Any]], object]
SAVED: dict[str, tuple[type[forms.Form], Save]] = {
    "document": (DocumentForm, _upload),
    "note": (NoteForm, _write),
    PROFILE: (ProfileForm, _describe),
}


def _back() -> HttpResponse:
    return redirect("team-knowledge")


def _page(
    request: HttpRequest, principal: Principal, name: str = "", refused: forms.Form | None = None
) -> HttpResponse:
    wisdom = list(notes.wisdom(principal).order_by("-id")[:MOST])
    about = {"about": notes.about(principal)}
    context = {
        "documents": documents.visible(principal)[:MOST],
        "notes": wisdom,
        "manages": principal.can("manage_agents"),
        "document_form": refused if refused and name == "document" else DocumentForm(),
        "note_form": refused if refused and name == "note" else NoteForm(),
        "profile_form": refused if refused and name == PROFILE else ProfileForm(initial=about),
    }
    return render(request, "team/knowledge.html", context, status=422 if refused else 200)
