"""The token in X-AGUI-User: who it names, and each way in which it can be wrong."""

import time
from datetime import timedelta
from typing import Any

import jwt
import pytest

from agui_host.backends.postgres import clock
from agui_host.errors import Unauthenticated
from agui_host.security.secrets import unseal
from agui_host.teams import authentication, keys
from agui_host.teams.actors import HOST
from agui_host.teams.authentication import Principal
from agui_host.teams.end_users import signing
from agui_host.teams.models import ApiKey, AuditEntry, Role
from tests.asgi import ask
from tests.cast import Cast
from tests.teams.end_users.signed import Signing

pytestmark = pytest.mark.django_db(transaction=True)


def resolved(headers: dict[str, str]) -> Principal:
    return authentication.resolve(headers, {})


def code_of(headers: dict[str, str]) -> str:
    with pytest.raises(Unauthenticated) as caught:
        resolved(headers)
    assert caught.value.status == 401
    assert caught.value.headers["WWW-Authenticate"] == "Bearer"
    return caught.value.code


def test_a_token_names_the_person(cast: Cast) -> None:
    product = Signing(cast.team)
    principal = resolved(product.headers("42", name="Dora", email="dora@example.com", plan="gold"))
    assert principal.end_user is not None
    assert principal.end_user.sub == "42"
    assert principal.label == f"key:{product.row.prefix}"
    assert '"plan":"gold"' in principal.end_user.claims
    assert principal.only == {"view", "run", "answer", "cancel", "comment"}


def test_each_wrong_token_is_refused(cast: Cast) -> None:
    product, other = Signing(cast.team), Signing(cast.team)
    now = int(time.time())
    wrong: dict[str, Any] = {
        "unsigned": jwt.encode({"sub": "42", "exp": now + 60}, None, "none"),
        "foreign": other.token("42"),
        "another algorithm": jwt.encode(
            {"sub": "42", "exp": now + 60}, product.secret * 2, "HS512"
        ),
        "forged": product.token("42")[:-3] + "AAA",
        "no sub": product.token("42", sub=None),
        "no exp": product.token("42", exp=None),
        "a number as sub": product.token("42", sub=42),
        "an empty sub": product.token(""),
        "a long sub": product.token("4" * 151),
        "a null character": product.token("4\x00"),
        "a long name": product.token("42", name="x" * 201),
        "a name that is none": product.token("42", name={}),
        "too long a life": product.token("42", exp=now + 7200),
        "an eternal life": product.token("42", exp=10**30),
        "a text as exp": product.token("42", exp=str(now + 60)),
        "from the future": product.token("42", nbf=now + 600),
        "too large": product.token("42", more="x" * 5000),
        "nonsense": "x.y.z",
        "nothing": "",
        "deep": jwt.utils.base64url_encode(b"[" * 2500).decode() + ".e30.x",
    }
    for name, token in wrong.items():
        assert code_of({**product.plain, "x-agui-user": token}) == "end_user_refused", name
    assert code_of(product.headers("42", exp=now - 60)) == "end_user_expired"


def test_a_key_without_a_secret_says_so(cast: Cast) -> None:
    product = Signing(cast.team)
    assert code_of({**cast.alice.headers, "x-agui-user": product.token("42")}) == (
        "end_users_unavailable"
    )
    with pytest.raises(Unauthenticated) as caught:
        authentication.resolve({"x-agui-user": product.token("42")}, {"sessionid": "x"})
    assert caught.value.code == "end_user_without_key"


def test_a_new_secret_ends_the_old_tokens_and_keeps_the_people(cast: Cast) -> None:
    product = Signing(cast.team)
    headers = product.headers("42")
    before = resolved(headers)
    assert authentication.refreshed(before) is not None
    product.renew()
    assert code_of(headers) == "end_user_refused"
    assert authentication.refreshed(before) is None
    assert resolved(product.headers("42")).actor_id == before.actor_id
    signing.remove(product.row, HOST)
    assert code_of(product.headers("42")) == "end_users_unavailable"


def test_access_ends_with_the_token(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    product = Signing(cast.team)
    principal = resolved(product.headers("42"))
    later = time.time() + 75
    monkeypatch.setattr(clock, "seconds", lambda: later)
    assert authentication.refreshed(principal) is None


def test_a_rotated_key_has_the_same_people_and_another_key_has_others(cast: Cast) -> None:
    product, other = Signing(cast.team), Signing(cast.team)
    before = resolved(product.headers("42"))
    new, text = keys.rotate(product.row, overlap=timedelta(hours=1))
    after = resolved({"authorization": f"Bearer {text}", "x-agui-user": product.token("42")})
    assert after.actor_id == before.actor_id
    assert after.label == f"key:{new.prefix}"
    assert resolved(other.headers("42")).actor_id != before.actor_id


def test_the_secret_is_stored_sealed(cast: Cast) -> None:
    product = Signing(cast.team)
    stored = ApiKey.objects.for_team(cast.team).get(pk=product.row.pk).end_user_secret
    assert product.secret not in stored
    assert unseal(stored) == product.secret


async def test_the_api_shows_a_secret_once(cast: Cast) -> None:
    made = (await ask("POST", "/api/v1/keys", cast.alice.headers, json={"name": "shop"})).json
    assert made["end_users"] is False
    url = f"/api/v1/keys/{made['id']}"
    answer = await ask("POST", f"{url}/end_user_secret", cast.alice.headers)
    assert answer.status == 201
    secret = answer.json["secret"]
    answer = await ask("GET", url, cast.alice.headers)
    assert answer.json["end_users"] is True
    assert secret not in answer.body.decode()
    token = jwt.encode({"sub": "42", "exp": int(time.time()) + 60}, secret, "HS256")
    headers = {"authorization": f"Bearer {made['key']}", "x-agui-user": token}
    assert (await ask("GET", "/api/v1/runs", headers)).status == 200
    assert (await ask("DELETE", f"{url}/end_user_secret", cast.alice.headers)).status == 204
    refused = await ask("GET", "/api/v1/runs", headers)
    assert (refused.status, refused.json["error"]["code"]) == (401, "end_users_unavailable")
    for person in (cast.bob, cast.charlie):
        answer = await ask("POST", f"{url}/end_user_secret", person.headers)
        assert answer.status in (403, 404)


def test_making_and_removing_a_secret_is_recorded(cast: Cast) -> None:
    product = Signing(cast.team)
    product.renew()
    signing.remove(product.row, HOST)
    lines = AuditEntry.objects.for_team(cast.team).filter(target=product.row.prefix)
    actions = [line.action for line in lines.order_by("id")]
    assert actions[-3:] == [
        "key.end_user_secret_made", "key.end_user_secret_rotated", "key.end_user_secret_removed",
    ]  # fmt: skip


def test_an_end_user_manages_nothing(cast: Cast) -> None:
    principal = resolved(Signing(cast.team, Role.OWNER).headers("42"))
    assert not any(map(principal.can, ("manage_keys", "share", "delete", "schedule", "view_team")))
