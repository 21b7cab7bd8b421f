"""Values of an agent's columns; checks and defaults of columns with JSON."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from agui_host.protocol.questions import rules
from agui_host.runtimes.middleware import chain
from agui_host.runtimes.options import BadOptions
from agui_host.runtimes.providers import chain as context


class Policy(models.TextChoices):
    """What happens when an agent breaks a rule of AG-UI."""

    REPAIR = "repair"
    FAIL = "fail"


class RecoveryMode(models.TextChoices):
    """What happens to a run whose worker is lost or stopped."""

    END = "end"
    CONTINUE = "continue"


class OnCodeChange(models.TextChoices):
    """What happens to a run that would be continued by another version of its agent's code."""

    CONTINUE = "continue"
    END = "end"


MOST_ATTEMPTS, LONGEST_PAUSE, LONGEST_GRACE = 20, 3600, 86_400


class OnBadState(models.TextChoices):
    """What happens when the state of a run does not match the agent's schema."""

    IGNORE = "ignore"
    NOTE = "note"
    REFUSE = "refuse"


def check_middleware(value: Any) -> None:
    """Raises ValidationError, which names the entry and its fault."""
    try:
        chain.parse(value)
    except BadOptions as bad:
        raise ValidationError(str(bad), code="middleware") from None


def check_context_providers(value: Any) -> None:
    """As ``check_middleware``."""
    try:
        context.parse(value)
    except BadOptions as bad:
        raise ValidationError(str(bad), code="context_providers") from None


def default_rules() -> list[str]:
    """The rules of a new agent."""
    return list(rules.DEFAULT)


def check_questions(value: Any) -> None:
    """Raises ValidationError unless it is a list of rules."""
    fits = isinstance(value, list) and len(value) <= len(rules.RULES)
    if not fits or not set(map(str, value)) <= set(rules.RULES):
        known = ", ".join(rules.RULES)
        raise ValidationError(f"This must be a list of some of {known}.", code="questions")
