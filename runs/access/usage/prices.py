"""The prices of a team's models, as people and keys see and change them."""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.prices import Price, model_name
from agui_host.protocol.errors import Invalid
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.lifecycle.usage import team_prices
from runs.models import ModelPrice


def own(principal: Principal) -> list[ModelPrice]:
    """The team's own prices, by model. Raises Forbidden."""
    access.require(principal, "view_team")
    return team_prices.own(principal.team)


def replace(principal: Principal, values: Iterable[Mapping[str, Any]]) -> list[ModelPrice]:
    """Make these the team's own prices. Raises Forbidden, Invalid."""
    target: dict[str, Price] = {}
    for value in values:
        model = value["model"]
        if model != model_name(model) or not model.strip("*"):
            raise Invalid("Write the name of a model, or its beginning and *.")
        if model in target:
            raise Invalid(f"There are two prices of {model}.")
        target[model] = Price(value["input"], value["output"], value.get("cached"))
    with members.holding(principal) as current:
        current.require("manage_team")
        team_prices.replace(current, current.team, target)
    return team_prices.own(principal.team)


def described(row: ModelPrice) -> dict[str, Any]:
    """A price as the API shows it."""
    return {"model": row.model, "input": row.input, "output": row.output, "cached": row.cached}
