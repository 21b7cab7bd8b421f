"""Secrets at rest: sealed in the database, read only where they are used, never shown.

The first key seals, every key unseals: to rotate, put a new key in front of AGUI_SECRETS_KEYS, run
``manage.py rotate_secrets``, and remove the old one. SECRET_KEY is the last of the keys, so that a
host without AGUI_SECRETS_KEYS works, and can get one later.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models, transaction

from agui_host.backends.derived_key import fernet
from agui_host.protocol.errors import HostError

if TYPE_CHECKING:
    _TextField = models.TextField[str, str]
else:
    _TextField = models.TextField

ELSEWHERE: dict[str, Callable[[], tuple[int, int]]] = {}
"""Functions that reseal secrets in other apps' tables; they return what ``rotate_all`` returns."""
_PURPOSE = b"agui run host: secrets at rest"


class SecretUnreadable(HostError):
    """A stored secret cannot be read: the key that sealed it is not in AGUI_SECRETS_KEYS."""

    code = "secret_unreadable"
    status = 500


class SealedField(_TextField):
    """A column of sealed text, which ``rotate_all`` finds; "" means that there is no secret.

    Never in a form: code that changes the row calls ``seal``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "blank": True, "default": "", "editable": False})


def seal(text: str) -> str:
    """``text`` encrypted and authenticated with the first key, in printable characters."""
    return _fernet().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """The plain text of a sealed secret. Raises SecretUnreadable, which reveals nothing of it."""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None


def reseal(sealed: str) -> str:
    """The same secret under the first key. Raises SecretUnreadable."""
    try:
        return _fernet().rotate(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None


def rotate_all() -> tuple[int, int]:
    """Reseal every SealedField and ELSEWHERE: how many, and how many were unreadable."""
    done = lost = 0
    for rotate in ELSEWHERE.values():
        more, unreadable = rotate()
        done, lost = done + more, lost + unreadable
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, SealedField):
                for key in model._base_manager.exclude(**{field.name: ""}).values_list("pk"):
                    if _rotate(model, field.name, key[0]):
                        done += 1
                    else:
                        lost += 1
    return done, lost


def _rotate(model: type[models.Model], name: str, key: Any) -> bool:
    """Reseal one row under a lock, so that a concurrent change of the secret is not undone."""
    with transaction.atomic():
        rows = model._base_manager.select_for_update(of=("self",)).filter(pk=key)
        sealed = rows.values_list(name, flat=True).first()
        try:
            if sealed:
                model._base_manager.filter(pk=key).update(**{name: reseal(sealed)})
        except SecretUnreadable:
            return False
    return True


def _fernet() -> MultiFernet:
    keys = [*settings.AGUI_SECRETS_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return _made(tuple(keys))


@lru_cache(maxsize=4)
def _made(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([fernet(key, _PURPOSE) for key in keys])
