"""The forms of signing in and up, and of the team page."""

from datetime import date
from typing import Any

from allauth.account import forms as account
from allauth.core import context
from django import forms
from django.utils import timezone

from dashboard.account.adapters import invitation_of
from teams.models import Role, Scope


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


class KeyForm(forms.Form):
    """A new API key; the verb decides what it may do."""

    name = forms.CharField(label="Name", max_length=50)
    role = forms.ChoiceField(label="Role", initial=Role.MEMBER)
    scopes = forms.MultipleChoiceField(
        label="May",
        choices=Scope.choices,
        initial=[Scope.READ, Scope.RUN],
        widget=forms.CheckboxSelectMultiple,
    )
    agents = forms.RegexField(
        label="Agents (empty: all)",
        regex=r"^[-\w]*(\s+[-\w]+)*\s*$",
        required=False,
        max_length=2000,
        error_messages={"invalid": "Slugs of agents, separated by spaces."},
    )
    until = forms.DateField(
        label="Until", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(self, *args: Any, roles: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        role = self.fields["role"]
        assert isinstance(role, forms.ChoiceField)  # noqa: S101
        role.choices = roles

    def clean_until(self) -> date | None:
        until: date | None = self.cleaned_data["until"]
        if until is not None and until < timezone.now().date():
            raise forms.ValidationError("This day is in the past.")
        return until


class InvitationForm(forms.Form):
    """Whom to invite; the verb decides about the role."""

    email = forms.EmailField(label="E-mail address")
    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER)
