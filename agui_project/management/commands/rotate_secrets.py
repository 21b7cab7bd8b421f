"""``manage.py rotate_secrets``: reseal stored secrets under the first key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui_host.security import secrets


class Command(BaseCommand):
    """Run it after a new key was put first in AGUI_SECRETS_KEYS, before an old one is removed."""

    help = "Seal every stored secret with the first of AGUI_SECRETS_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        """Report how many; exit 1 if one can no longer be read."""
        done, lost = secrets.rotate_all()
        self.stdout.write(f"{done} secrets sealed with the first key.")
        if lost:
            raise CommandError(f"{lost} secrets cannot be read with any key; set them again.")
