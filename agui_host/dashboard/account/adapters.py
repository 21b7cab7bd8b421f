"""Our decisions for django-allauth: who can sign up, and where a code is required."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.stages import EmailVerificationStage
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agui_host.dashboard.account import attempts
from agui_host.links import absolute
from agui_host.runtimes.create_team import create_own_team
from agui_host.security.requester import ADDRESS
from agui_host.teams.access import invitations
from agui_host.teams.directory import people, sign_in
from agui_host.teams.models import Invitation, Membership

log = structlog.get_logger(__name__)
NO_ADDRESS = "0.0.0.0"  # noqa: S104  (what allauth stores of a session must be an address)
SESSION = "invitation"
"""Where a browser's session stores the id of the invitation whose link it has opened."""


def invitation_of(request: HttpRequest) -> Invitation | None:
    """The open invitation whose link this browser has opened, if any."""
    return invitations.standing(request.session.get(SESSION))


def may_sign_up(request: HttpRequest) -> bool:
    """Whether AGUI_SIGNUP lets this visitor make an account."""
    if settings.AGUI_SIGNUP == "invited":
        return invitation_of(request) is not None
    return bool(settings.AGUI_SIGNUP == "open")


class VerifyAddress(EmailVerificationStage):  # type: ignore[misc]
    """Require the code only if there is an address: operators can make people without one."""

    def handle(self) -> Any:
        user = self.login.user
        if user and not user.email and not EmailAddress.objects.filter(user=user).exists():
            return None, True
        return super().handle()


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Passwords, addresses, and what happens after signing in."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """AGUI_SIGNUP: open to all, to invited people, or closed."""
        return may_sign_up(request)

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address as in the audit log; one address for all who come over a UNIX socket."""
        return ADDRESS.get() or request.META.get("REMOTE_ADDR") or NO_ADDRESS

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse an attempt above our bounds, which take the place of allauth's."""
        if not attempts.admit(request, _login(credentials), self.get_client_ip(request)):
            raise self.validation_error("too_many_login_attempts")

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the attempt."""
        attempts.count(request, _login(credentials))
        super().authentication_failed(request, **credentials)

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """An attempt that succeeds does not count."""
        user: User | None = super().authenticate(request, **credentials)
        if user is not None:
            attempts.succeeded(request, _login(credentials), self.get_client_ip(request))
        return user

    def set_password(self, user: User, password: str) -> None:
        """A new password forgets the attempts on the old one."""
        super().set_password(user, password)
        attempts.forget(user)

    def get_login_stages(self) -> list[str]:
        """The library's stages, with our rule for addresses."""
        own = f"{VerifyAddress.__module__}.{VerifyAddress.__qualname__}"
        theirs = "allauth.account.stages.EmailVerificationStage"
        return [own if stage == theirs else stage for stage in super().get_login_stages()]

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        """Apply the provider's groups; if sign-up is open, give a new user their own team."""
        if (social := (kwargs.get("signal_kwargs") or {}).get("sociallogin")) is not None:
            sign_in.apply(user, _claims(social), _proven(social))
        if settings.AGUI_SIGNUP == "open" and invitation_of(request) is None:
            # Two sign-ins at once would make two teams.
            with transaction.atomic():
                User.objects.select_for_update().get(pk=user.pk)
                if not Membership.objects.of_one_person().filter(user=user).exists():
                    create_own_team(user)
        answer: HttpResponse = super().post_login(request, user, **kwargs)
        return answer

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Links in it use this host's own address, whatever Host the request named.

        If the mail server is away, an error page is shown.
        """
        requested = self.request.build_absolute_uri("/").removesuffix("/")
        ours = {
            name: absolute(value.removeprefix(requested)) if _is_below(value, requested) else value
            for name, value in context.items()
        }
        host = urlsplit(absolute("/")).netloc
        site = {"current_site": SimpleNamespace(name=host, domain=host)}
        try:
            super().send_mail(template_prefix, email, {**ours, **site})
        except OSError as error:  # SMTPException is one
            log.warning("mail.lost", error=repr(error))
            raise ImmediateHttpResponse(_mail_lost()) from error


def _login(credentials: dict[str, Any]) -> str:
    return str(credentials.get("email") or credentials.get("username") or "")


def _is_below(value: object, address: str) -> bool:
    return isinstance(value, str) and value.startswith(f"{address}/")


def _mail_lost() -> HttpResponse:
    error = invitations.MailLost()
    return render(context.request, "error.html", {"error": error}, status=error.status)


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Sign-in by OpenID Connect."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Connect an account without a password that a directory made for a verified address."""
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        user = people.made_for(_proven(sociallogin))
        if user is not None and not SocialAccount.objects.filter(user=user).exists():
            sociallogin.connect(request, user)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """As with a password; an address that the provider has verified can be an invited one.

        People whom a team's domain or a rule for their group lets in need no invitation.
        """
        if settings.AGUI_SIGNUP != "invited":
            return bool(settings.AGUI_SIGNUP == "open")
        proven = _proven(sociallogin)
        return invitations.any_for(proven) or sign_in.admits(_claims(sociallogin), proven)


def _proven(sociallogin: Any) -> list[str]:
    """The addresses that the provider has verified."""
    return [address.email for address in sociallogin.email_addresses if address.verified]


def _claims(sociallogin: Any) -> dict[str, Any]:
    return sign_in.claims_of(sociallogin.account.extra_data)
