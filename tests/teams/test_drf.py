"""The same Principal in DRF views, and the Origin rules for a browser's cookie."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from agui_host.teams import keys
from agui_host.teams.authentication import principal_of
from agui_host.teams.models import Membership, Role, Team

SignIn = Callable[..., dict[str, str]]
OWN = "http://testserver"
LISTED = "https://app.example"
STRANGER = "https://evil.example"


class WhoAmI(APIView):
    def get(self, request: Request) -> Response:
        return Response({"me": principal_of(request).label, "user": str(request.user)})

    post = delete = get


class Open(APIView):
    permission_classes = [AllowAny]

    def get(self, request: Request) -> Response:
        return Response({"me": str(request.user)})


def ask(
    method: str = "get",
    *,
    view: type[APIView] = WhoAmI,
    cookies: dict[str, str] | None = None,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> Any:
    factory = APIRequestFactory()
    factory.cookies.load(cookies or {})
    request = getattr(factory, method)(
        "/",
        data="{}" if method == "post" else None,
        content_type=content_type,
        headers=headers or {},
    )
    return view.as_view()(request)


@pytest.fixture(autouse=True)
def _listed(settings: Settings) -> None:
    settings.AGUI_ALLOWED_ORIGINS = [LISTED, "*"]


def test_a_key(team: Team) -> None:
    row, key = keys.create_key(team, "ci", Role.MEMBER)
    answer = ask(headers={"authorization": f"Bearer {key}"})
    assert answer.data == {"me": f"key:{row.prefix}", "user": "AnonymousUser"}


def test_a_person(alice: User, sign_in: SignIn) -> None:
    assert ask(cookies=sign_in(alice)).data == {"me": "user:alice", "user": "alice"}


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer nope"}])
def test_nobody_is_challenged(db: None, headers: dict[str, str]) -> None:
    answer = ask(headers=headers)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer.data["error"]["code"] == "unauthenticated"


def test_a_bad_header_beside_a_good_cookie(alice: User, sign_in: SignIn) -> None:
    assert ask(cookies=sign_in(alice), headers={"authorization": "Bearer nope"}).status_code == 401


def test_somebody_in_no_team(alice: User, sign_in: SignIn) -> None:
    Membership.objects.all().delete()
    assert ask(cookies=sign_in(alice)).status_code == 403


def test_an_open_view_answers_a_stale_cookie_but_not_a_wrong_key(db: None) -> None:
    assert ask(view=Open, cookies={"sessionid": "x" * 32}).data == {"me": "AnonymousUser"}
    assert ask(view=Open, headers={"authorization": "Bearer nope"}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": OWN}, 200),
        ({"origin": LISTED}, 200),
        ({}, 403),
        ({"origin": STRANGER}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://testserver"}, 403),
    ],
)
@pytest.mark.parametrize("method", ["post", "delete"])
def test_from_where_a_cookie_may_change_something(
    alice: User, sign_in: SignIn, method: str, headers: dict[str, str], status: int
) -> None:
    assert ask(method, cookies=sign_in(alice), headers=headers).status_code == status


def test_reading_with_a_cookie_needs_no_origin(alice: User, sign_in: SignIn) -> None:
    assert ask(cookies=sign_in(alice), headers={"origin": STRANGER}).status_code == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_form_cannot_post_with_a_cookie(alice: User, sign_in: SignIn, content_type: str) -> None:
    answer = ask("post", cookies=sign_in(alice), content_type=content_type, headers={"origin": OWN})
    assert answer.status_code == 415


def test_a_key_may_post_from_anywhere(team: Team) -> None:
    key = keys.create_key(team, "ci", Role.MEMBER)[1]
    answer = ask("post", headers={"authorization": f"Bearer {key}", "origin": STRANGER})
    assert answer.status_code == 200
