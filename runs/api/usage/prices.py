"""The prices resource: the prices of a team's models."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.prices import DEAREST, LONGEST_MODEL
from agui_host.teams.api.bodies import Body
from agui_host.teams.authentication import principal_of
from runs.access.usage import prices
from runs.lifecycle.usage.team_prices import MOST


class PriceSerializer(Body):
    """US dollars for a million tokens of a model; ``*`` ends a name that is a beginning."""

    model = serializers.CharField(max_length=LONGEST_MODEL)
    input = serializers.FloatField(min_value=0, max_value=DEAREST)
    output = serializers.FloatField(min_value=0, max_value=DEAREST)
    cached = serializers.FloatField(
        min_value=0, max_value=DEAREST, required=False, allow_null=True, default=None,
        help_text="Null: as much as other input.",
    )  # fmt: skip


@extend_schema_serializer(component_name="PriceList")
class PricesSerializer(Body):
    """The team's own prices."""

    prices = serializers.ListField(child=PriceSerializer(), max_length=MOST)


class TeamPrices(APIView):
    """The prices of the caller's team."""

    @extend_schema(responses={200: PricesSerializer})
    def get(self, request: Request) -> Response:
        """The team's own prices; those of the host's operator apply to other models."""
        return self._answer(prices.own(principal_of(request)))

    @extend_schema(request=PricesSerializer, responses={200: PricesSerializer})
    def put(self, request: Request) -> Response:
        """Replace the team's own prices, for runs that end from now on."""
        principal = principal_of(request)
        values = PricesSerializer.read(request)["prices"]
        return self._answer(prices.replace(principal, values))

    def _answer(self, rows: Any) -> Response:
        return Response({"prices": [prices.described(row) for row in rows]})
