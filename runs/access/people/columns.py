"""How tables name a person, read off their models, so that a new table is never forgotten."""

from collections.abc import Iterator

from django.contrib.auth.models import User
from django.db.models import CharField, Field, ForeignKey, Model, Q

from agui_host.teams import row_security
from agui_host.teams.actors import LONGEST, key_id, user_id
from agui_host.teams.models import ApiKey, AuditEntry

LABEL = 200
"""The length of columns with labels such as ``user:alice``."""


def models() -> Iterator[type[Model]]:
    """The tables of this host, without the audit log, which only its own function changes."""
    return (model for model in row_security.owned() if model is not AuditEntry)


def labels(model: type[Model]) -> list[str]:
    """The columns that have labels of actors."""
    return [field.name for field in _texts(model) if field.max_length == LABEL]


def of_actors(model: type[Model], actors: list[str]) -> Q:
    """The rows whose columns of ids name one of the actors; none without such columns."""
    rows = Q()
    for field in _texts(model):
        if field.max_length == LONGEST:
            rows |= Q(**{f"{field.name}__in": actors})
    return rows


def of_user(model: type[Model], user: User) -> Q:
    """The rows with a foreign key to the person."""
    rows = Q()
    for field in model._meta.concrete_fields:
        if isinstance(field, ForeignKey) and field.related_model is User:
            rows |= Q(**{field.name: user})
    return rows


def actors_of(user: User) -> list[str]:
    """The ids of the person and of the keys that they made."""
    keys = ApiKey.objects.of_one_person().filter(created_by=user).values_list("pk", flat=True)
    return [user_id(user.pk), *map(key_id, keys)]


def _texts(model: type[Model]) -> list["Field[str, str]"]:
    fields = model._meta.concrete_fields
    return [field for field in fields if isinstance(field, CharField) and not field.choices]
