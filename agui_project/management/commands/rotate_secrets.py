"""``manage.py rotate_secrets``: reseal what is stored under the first key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from security import secrets


class Command(BaseCommand):
    """Run it after a new key was put in front of AGUI_SECRETS_KEYS, and before an old one goes."""

    help = "Seal every stored secret with the first of AGUI_SECRETS_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        """Say how many; exit 1 if one cannot be read any more."""
        done, lost = secrets.rotate_all()
        self.stdout.write(f"{done} secrets sealed with the first key.")
        if lost:
            raise CommandError(f"{lost} secrets cannot be read with any key; set them again.")
