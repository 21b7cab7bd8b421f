"""The person that a command names."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db.models import Q


def find(name: str) -> User:
    """The person of a login or a verified address. Raises CommandError.

    Anyone can sign up with another person's address as their login: such a name is refused.
    """
    people = {
        user.pk: user
        for user in User.objects.filter(
            Q(username=name) | Q(emailaddress__email__iexact=name, emailaddress__verified=True)
        )
    }
    if not people:
        raise CommandError(f"There is no account {name!r}.")
    if len(people) > 1:
        logins = ", ".join(sorted(str(user) for user in people.values() if str(user) != name))
        raise CommandError(f"{name!r} is a login, and the address of {logins}: name that login.")
    return people.popitem()[1]
