"""The person that a command names."""

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.management.base import CommandError


def find(name: str) -> User:
    """The person of a login or a verified address. Raises CommandError."""
    user = User.objects.filter(username=name).first()
    address = EmailAddress.objects.filter(email__iexact=name, verified=True).first()
    if user is None and address is None:
        raise CommandError(f"There is no account {name!r}.")
    return user if user is not None else address.user
