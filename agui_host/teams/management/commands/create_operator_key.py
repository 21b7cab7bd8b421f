"""``manage.py create_operator_key NAME``: a key for ``/api/v1/operator``, printed once."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui_host.backends.postgres import clock
from agui_host.teams.models import OperatorKey


class Command(BaseCommand):
    """Makes a key, lists the keys, or revokes those of a name."""

    help = "Make a key that changes every team of this host. Only its hash is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="the key's purpose")
        parser.add_argument("--days", type=int, help="its lifetime; by default it never expires")
        parser.add_argument("--list", action="store_true", help="print all keys instead")
        parser.add_argument("--revoke", action="store_true", help="revoke the keys of this name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the key, or a line for each that exists."""
        name, days = options["name"], options["days"]
        if options["list"]:
            for row in OperatorKey.objects.order_by("created"):
                self.stdout.write(_line(row))
            return
        if not name or not 1 <= len(name) <= 50:
            raise CommandError("name the key, in at most 50 characters")
        if options["revoke"]:
            if not OperatorKey.objects.get_usable_keys().filter(name=name).update(revoked=True):
                raise CommandError(f"no key of the name {name!r} works")
            self.stdout.write(f"{name} is revoked.")
            return
        if days is not None and not 1 <= days <= 36_500:
            raise CommandError("--days: choose 1 to 36500")
        expires = None if days is None else clock.now() + timedelta(days=days)
        _, text = OperatorKey.objects.create_key(name=name, expiry_date=expires)
        self.stdout.write(text)


def _line(row: OperatorKey) -> str:
    state = "revoked" if row.revoked else "expired" if row.has_expired else "works"
    used = f"{row.last_used_at:%Y-%m-%d %H:%M} UTC" if row.last_used_at else "never"
    return f"{row.prefix} {state}, last used {used}: {row.name}"
