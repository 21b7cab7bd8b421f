"""The budgets resource."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access.budgets import manage
from runs.access.budgets.manage import MOST_COST, MOST_TOKENS
from runs.models import AtLimit, Budget, BudgetScope, Period, Unit

STATES = ("ok", "warning", "spent")


class BudgetSerializer(serializers.ModelSerializer[Budget]):
    """A budget, and how much of it is used since its period began."""

    unit = serializers.ChoiceField(Unit.choices)
    max = serializers.FloatField()
    used = serializers.FloatField()
    reserve = serializers.FloatField(
        allow_null=True,
        help_text="Kept free for the next model call of each run that is going; null: as much as"
        " the largest call.",
    )
    largest_call = serializers.FloatField(
        source="largest", help_text="The most that was counted at once."
    )
    period = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()

    class Meta:
        model = Budget
        fields = ["id", "scope", "of", "unit", "max", "used", "reserve", "largest_call", "state",
                  "period", "since", "at_limit", "created_by", "created_at"]  # fmt: skip
        read_only_fields = fields

    def get_period(self, row: Budget) -> str | None:
        """``day``, ``month``, or null for a budget that never begins again."""
        return row.period or None

    def get_state(self, row: Budget) -> str:
        """``ok``, ``warning`` from 80 %, or ``spent``."""
        return manage.state(row)


class BudgetTerms(Body):
    """Members that a new budget and a change share."""

    tokens = serializers.IntegerField(min_value=0, max_value=MOST_TOKENS, required=False)
    cost = serializers.DecimalField(
        24, 6, min_value=0, max_value=MOST_COST, required=False, help_text="In US dollars."
    )
    reserve = serializers.DecimalField(
        24, 6, min_value=0, max_value=MOST_TOKENS, required=False, allow_null=True,
        help_text="The size of a model call, in the same unit; by default, and for null, the"
        " largest that was counted.",
    )  # fmt: skip
    at_limit = serializers.ChoiceField(
        AtLimit.choices, required=False, help_text="end: the run fails. ask: it ends in a question."
    )


class BudgetChangeSerializer(BudgetTerms):
    """Changes to a budget; absent members stay as they are."""

    max = serializers.DecimalField(
        24, 6, min_value=0, max_value=MOST_TOKENS, required=False, help_text="In the budget's unit."
    )


class BudgetNewSerializer(BudgetTerms):
    """A new budget: ``tokens`` or ``cost``."""

    scope = serializers.ChoiceField(BudgetScope.choices)
    of = serializers.CharField(
        max_length=255,
        required=False,
        allow_null=True,
        help_text="A slug of an agent or the team, a login, a key's prefix, or an id; by default"
        " the team, for its own scope.",
    )
    period = serializers.ChoiceField(Period.choices, required=False, allow_null=True)


class BudgetList(generics.ListAPIView[Budget]):
    """The team's budgets, newest first."""

    serializer_class = BudgetSerializer
    pagination_class = NewestFirst
    queryset = Budget.objects.none()

    def get_queryset(self) -> QuerySet[Budget]:
        principal = principal_of(self.request)
        rows = manage.visible(principal)
        manage.count(principal)
        return rows

    @extend_schema(request=BudgetNewSerializer, responses={201: BudgetSerializer})
    def post(self, request: Request) -> Response:
        """Make a budget; it counts the spending since its period began."""
        row = manage.create(principal_of(request), BudgetNewSerializer.read(request))
        return Response(BudgetSerializer(row).data, status=201)


class BudgetDetail(APIView):
    @extend_schema(responses={200: BudgetSerializer})
    def get(self, request: Request, budget_id: UUID, **kwargs: Any) -> Response:
        """One budget."""
        principal = principal_of(request)
        manage.find(principal, budget_id)
        manage.count(principal)
        return Response(BudgetSerializer(manage.find(principal, budget_id)).data)

    @extend_schema(request=BudgetChangeSerializer, responses={200: BudgetSerializer})
    def patch(self, request: Request, budget_id: UUID) -> Response:
        """Change a budget; fields that are left out stay."""
        principal = principal_of(request)
        manage.find(principal, budget_id)
        row = manage.change(principal, budget_id, BudgetChangeSerializer.read(request))
        return Response(BudgetSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, budget_id: UUID) -> Response:
        """Delete a budget."""
        manage.remove(principal_of(request), budget_id)
        return Response(status=204)
