"""The forms of signing in and up, and of the team page."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, TypeVar

from allauth.account import forms as account
from allauth.core import context
from django import forms

from agui_host.backends.postgres import clock
from agui_host.dashboard.account.adapters import invitation_of
from agui_host.protocol.errors import HostError
from agui_host.teams.models import Role, Scope
from runs.models.webhook import EVENTS

T = TypeVar("T")


def submitted(form: forms.Form, act: Callable[[dict[str, Any]], T]) -> T | None:
    """What ``act`` makes of a valid form; None if the form shows errors."""
    if not form.is_valid():
        return None
    try:
        return act(form.cleaned_data)
    except HostError as error:
        form.add_error(None, error.message)
        return None


class LoginForm(account.LoginForm):  # type: ignore[misc]
    """By name or by address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, password = self.fields["login"], self.fields["password"]
        login.label, login.widget.attrs["autocomplete"] = "Username or e-mail", "username"
        for field in (login, password):
            del field.widget.attrs["placeholder"]


class SignupForm(account.SignupForm):  # type: ignore[misc]
    """Require that an invited person signs up with the invited address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        invitation = invitation_of(context.request)
        if invitation is not None:
            self.fields["email"].initial = invitation.email
            self.fields["email"].disabled = True  # A browser cannot send another one.
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)


class SlugsField(forms.RegexField):
    """Slugs of agents, with spaces between them."""

    def __init__(self) -> None:
        super().__init__(
            label="Agents (empty: all)",
            regex=r"^[-\w]*(\s+[-\w]+)*\s*$",
            required=False,
            max_length=2000,
            error_messages={"invalid": "Slugs of agents, separated by spaces."},
        )


class KeyForm(forms.Form):
    """A new API key; the verb decides its rights."""

    name = forms.CharField(label="Name", max_length=50)
    role = forms.ChoiceField(label="Role", initial=Role.MEMBER)
    scopes = forms.MultipleChoiceField(
        label="Can",
        choices=[(each.value, "SCIM" if each == Scope.SCIM else each.label) for each in Scope],
        initial=[Scope.READ, Scope.RUN],
        widget=forms.CheckboxSelectMultiple,
    )
    agents = forms.MultipleChoiceField(
        label="Only these agents; none: all of them",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    until = forms.DateField(
        label="Until", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(
        self, *args: Any, roles: list[tuple[str, str]], slugs: list[str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (("role", roles), ("agents", [(slug, slug) for slug in slugs])):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101
            field.choices = choices
        if not slugs:
            del self.fields["agents"]

    def clean_until(self) -> date | None:
        """The last day of the key's life, if one is set. Raises ValidationError for a past one."""
        until: date | None = self.cleaned_data["until"]
        if until is not None and until < clock.now().date():
            raise forms.ValidationError("This day is in the past.")
        return until


class WebhookForm(forms.Form):
    """A new webhook; the verb checks its address and agents."""

    url = forms.CharField(label="Address", max_length=2_000)
    events = forms.MultipleChoiceField(
        label="Tell it of",
        choices=[(event, event) for event in EVENTS],
        widget=forms.CheckboxSelectMultiple,
    )
    agents = SlugsField()
    contents = forms.BooleanField(label="With results, questions and answers", required=False)


class ScheduleForm(forms.Form):
    """A new schedule; the verb checks its agent, times and thread."""

    name = forms.CharField(label="Name", max_length=120, required=False)
    agent = forms.SlugField(label="Agent (empty: the default)", max_length=64, required=False)
    message = forms.CharField(
        label="Message", max_length=100_000, widget=forms.Textarea(attrs={"rows": 3})
    )
    cron = forms.CharField(
        label="Cron (minute, hour, day, month, weekday)",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "0 7 * * 1-5"}),
    )
    run_at = forms.CharField(
        label="Or once at",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    time_zone = forms.CharField(label="Time zone", max_length=64)
    thread = forms.ChoiceField(
        label="Thread",
        choices=[("new", "a new one for each run"), ("fixed", "one for all runs")],
    )
    missed = forms.ChoiceField(
        label="Missed times",
        choices=[("once", "run once"), ("skip", "skip"), ("all", "run each")],
    )

    def clean_run_at(self) -> datetime | None:
        """A time of the schedule's zone. Raises ValidationError."""
        try:
            text: str = self.cleaned_data["run_at"]
            return datetime.fromisoformat(text) if text else None
        except ValueError:
            raise forms.ValidationError("This is not a time.") from None


class GroupRuleForm(forms.Form):
    """A group of the sign-in service, and its people's role."""

    group = forms.CharField(label="Group", max_length=255)
    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER)


class InvitationForm(forms.Form):
    """Whom to invite; the verb decides about the role."""

    email = forms.EmailField(label="E-mail address")
    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER)
