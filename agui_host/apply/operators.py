"""Keys of the host's operators: found for a request, noted, and never a team's principal."""

from datetime import timedelta

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Unauthenticated
from agui_host.security import requester
from agui_host.teams.authentication import CHALLENGE
from agui_host.teams.models import SCANNABLE, OperatorKey

NOTED_EVERY = timedelta(minutes=1)


class OperatorAuthentication(BaseAuthentication):
    """DRF: ``request.auth`` is the OperatorKey. Sessions and teams' keys open nothing here."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, OperatorKey]:
        """Raises Unauthenticated."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        row = find(text.strip()) if scheme.lower() == "bearer" else None
        if row is None:
            raise Unauthenticated(
                "Send an operator's key as 'Authorization: Bearer <key>'.",
                headers={"WWW-Authenticate": CHALLENGE},
            )
        return AnonymousUser(), row

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return CHALLENGE


class IsOperator(BasePermission):
    """DRF permission: an operator's key has been found."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the caller is an operator."""
        return isinstance(request.auth, OperatorKey)


@scope.everywhere()
def find(text: str) -> OperatorKey | None:
    """The usable key of this text; its use is noted once a minute."""
    if "\x00" in text or not text.startswith(SCANNABLE):
        return None
    generator = OperatorKey.objects.key_generator
    prefix = text.removeprefix(SCANNABLE).partition(".")[0]
    row: OperatorKey | None = OperatorKey.objects.get_usable_keys().filter(prefix=prefix).first()
    now = clock.now()
    if row is None or not generator.verify(text, row.hashed_key):
        return None
    if row.expiry_date is not None and row.expiry_date <= now:
        return None
    requester.identified(row.pk)
    stale = OperatorKey.objects.filter(pk=row.pk).exclude(last_used_at__gt=now - NOTED_EVERY)
    stale.update(last_used_at=now)
    return row
