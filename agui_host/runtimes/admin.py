"""Agents in Django's admin, for operators."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from agui_host.protocol.errors import HostError
from agui_host.runtimes.knowledge import documents
from agui_host.runtimes.models import Agent, Document, Wisdom
from agui_host.teams.admin import Audited

if TYPE_CHECKING:
    UploadFormBase = forms.ModelForm[Document]
else:
    UploadFormBase = forms.ModelForm


@admin.register(Agent)
class AgentAdmin(Audited[Agent]):
    """A team's agents, and the rules by which they run."""

    list_display = ["slug", "team", "name", "kind", "on_busy", "policy", "is_default", "enabled"]
    list_filter = ["kind", "enabled", "on_busy", "policy", "raw", "queue", "repeatable", "is_tool"]
    list_select_related = ["team"]
    search_fields = ["slug", "name", "team__slug"]
    raw_id_fields = ["team"]
    readonly_fields = ["id", "created_at"]


class UploadForm(UploadFormBase):
    """A file of UTF-8 text."""

    file = forms.FileField()

    class Meta:
        model = Document
        fields = ["team", "title", "media_type"]

    def clean(self) -> dict[str, Any]:
        """Turn a refusal by ``documents.store`` into an error of the form."""
        values: dict[str, Any] = super().clean() or {}
        if "file" in values:
            try:
                draft = Document(
                    title=values.get("title", ""), media_type=values.get("media_type", "")
                )
                documents.check(draft, values["file"].read().decode())
                self.instance.text = draft.text
            except (UnicodeDecodeError, HostError) as error:
                message = (
                    error.message if isinstance(error, HostError) else "This file is not UTF-8."
                )
                raise forms.ValidationError({"file": message}) from None
        return values


@admin.register(Document)
class DocumentAdmin(Audited[Document]):
    """Texts whose parts a team's agents can get: uploaded and deleted, never changed."""

    form = UploadForm
    list_display = ["title", "team", "media_type", "size", "uploaded_by", "created_at"]
    list_filter = ["media_type"]
    list_select_related = ["team"]
    search_fields = ["title", "team__slug"]
    raw_id_fields = ["team"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).defer("text")

    def has_change_permission(self, request: HttpRequest, obj: Document | None = None) -> bool:
        """No one: a document is replaced by uploading a new one."""
        return False

    def save_model(self, request: HttpRequest, obj: Document, form: Any, change: bool) -> None:
        """Store the document with its pieces."""
        documents.store(obj, f"user:{request.user.get_username()}")


@admin.register(Wisdom)
class WisdomAdmin(Audited[Wisdom]):
    """Notes for a team's agents."""

    list_display = ["__str__", "team", "written_by", "created_at"]
    list_select_related = ["team"]
    search_fields = ["text", "team__slug"]
    raw_id_fields = ["team"]

    def save_model(self, request: HttpRequest, obj: Wisdom, form: Any, change: bool) -> None:
        """Record who changed it last."""
        obj.written_by = f"user:{request.user.get_username()}"
        super().save_model(request, obj, form, change)
