"""The forms of signing in and up, and of the team page."""

from typing import Any

from allauth.account import forms as account
from allauth.core import context
from django import forms

from dashboard.accounts import invitation_of
from teams.models import Role


class LoginForm(account.LoginForm):  # type: ignore[misc]
    """By name or by address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, password = self.fields["login"], self.fields["password"]
        login.label, login.widget.attrs["autocomplete"] = "Username or e-mail", "username"
        for field in (login, password):
            del field.widget.attrs["placeholder"]


class SignupForm(account.SignupForm):  # type: ignore[misc]
    """Who was invited signs up with the invited address and no other."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        invitation = invitation_of(context.request)
        if invitation is not None:
            self.fields["email"].initial = invitation.email
            self.fields["email"].disabled = True  # what a browser sends instead is ignored
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)


class InvitationForm(forms.Form):
    """Whom to invite; the role is weighed by the verb."""

    email = forms.EmailField(label="E-mail address")
    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER)
