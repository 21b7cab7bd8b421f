"""``manage.py create_operator EMAIL``: a person with access to the admin of the whole host."""

import secrets
from argparse import ArgumentParser
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.db import transaction


class Command(BaseCommand):
    """Makes the account, or lets an existing one in."""

    help = "Make a person an operator, who can change every team in the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--revoke", action="store_true", help="take the right away again")

    def handle(self, *, email: str, revoke: bool, **options: Any) -> None:
        """A new account gets a password, which is printed once."""
        try:
            validate_email(email)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        with transaction.atomic():
            address = EmailAddress.objects.filter(email__iexact=email, verified=True).first()
            if revoke and address is None:
                raise CommandError(f"There is no account with the verified address {email}.")
            user, password = (address.user, None) if address else _account(email)
            user.is_staff = user.is_superuser = not revoke
            user.save(update_fields=["is_staff", "is_superuser"])
        if revoke:
            self.stdout.write(f"{user.get_username()} is no operator.")
            return
        base = settings.AGUI_PUBLIC_URL or settings.AGUI_LOCAL_URL
        self.stdout.write(f"{user.get_username()} is an operator: {base}/admin/")
        if password:
            self.stdout.write(f"password: {password}")


def _account(email: str) -> tuple[User, str]:
    name = email.partition("@")[0][:100]
    if User.objects.filter(username=name).exists():
        name = f"{name}-{secrets.token_hex(3)}"
    password = secrets.token_urlsafe(15)
    user = User.objects.create_user(name, email, password)
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user, password
