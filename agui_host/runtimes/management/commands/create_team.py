"""``manage.py create_team SLUG``: a team with every agent of this host, and its owner."""

from argparse import ArgumentParser
from typing import Any

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email, validate_slug

from agui_host.protocol.errors import HostError
from agui_host.runtimes.create_team import create_team
from agui_host.teams.access import invitations
from agui_host.teams.models import Role


class Command(BaseCommand):
    """``manage.py create_team``."""

    help = "Create a team. The person with this verified address owns it; anyone else is invited."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--name", help="what people see; the slug by default")
        parser.add_argument("--owner", required=True, metavar="EMAIL")

    def handle(self, *, slug: str, owner: str, **options: Any) -> None:
        try:
            validate_slug(slug)
            validate_email(owner)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        known = EmailAddress.objects.filter(email__iexact=owner, verified=True).first()
        try:
            team = create_team(slug, options["name"] or slug, known.user if known else None)
            if known:
                self.stdout.write(f"{known.user.get_username()} owns {team.slug}.")
                return
            _, link = invitations.send(team, owner, Role.OWNER, by="operator")
        except HostError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{owner} was invited to own {team.slug}: {link}")
