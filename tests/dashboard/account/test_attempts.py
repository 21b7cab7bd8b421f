"""Failed sign-ins: a stranger elsewhere locks out only himself."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.test import Client

from agui_host.dashboard.account import attempts
from tests.dashboard.conftest import no_attempts_yet
from tests.dashboard.signing import PASSWORD, browser, is_signed_in, person, sign_in

__all__ = ["no_attempts_yet"]

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
HOME, ELSEWHERE = "192.0.2.1", "192.0.2.2"
EMAIL = "dora@example.com"


@pytest.fixture(autouse=True)
def bound(settings: Any) -> int:
    """Fewer attempts at a name than by default, for the sake of time."""
    rates = settings.ACCOUNT_RATE_LIMITS
    assert rates["login_failed_anywhere"] == "100/5m/key"
    settings.ACCOUNT_RATE_LIMITS = {**rates, "login_failed_anywhere": "12/5m/key"}
    return 12


@pytest.fixture
def dora(no_attempts_yet: None) -> User:
    user = person("dora", EMAIL)
    user.emailaddress_set.create(email=EMAIL, verified=True, primary=True)
    return user


def at(address: str) -> Client:
    client = browser()
    client.defaults["REMOTE_ADDR"] = address
    return client


def refused(answer: Any) -> bool:
    return "Too many failed login attempts" in answer.content.decode()


@pytest.mark.parametrize("login", ["dora", "DORA", EMAIL], ids=("name", "capitals", "address"))
def test_a_stranger_locks_out_only_himself(dora: User, login: str) -> None:
    stranger = at(ELSEWHERE)
    answers = [sign_in(stranger, login, "wrong") for _ in range(7)]
    assert [refused(answer) for answer in answers] == [False] * 5 + [True] * 2
    assert refused(sign_in(stranger, login))
    at_home = at(HOME)
    sign_in(at_home, login)
    assert is_signed_in(at_home)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
    ],
    ids=("network", "two networks", "mapped"),
)
def test_an_ipv6_network_counts_as_one_address(one: str, other: str, same: bool) -> None:
    assert (attempts.by_address("a", one) == attempts.by_address("a", other)) is same


def test_an_address_has_a_bound_over_all_names(dora: User) -> None:
    stranger = at(ELSEWHERE)
    answers = [sign_in(stranger, f"name-{number}", "wrong") for number in range(11)]
    assert [refused(answer) for answer in answers] == [False] * 10 + [True]


def test_a_name_has_a_bound_over_all_addresses(dora: User, bound: int) -> None:
    for number in range(bound):
        assert not refused(sign_in(at(f"198.51.100.{number}"), "dora", "wrong"))
    assert refused(sign_in(at(HOME), "dora"))
    other = at(HOME)
    person("erin")
    sign_in(other, "erin")
    assert is_signed_in(other)


def test_refused_and_right_ones_do_not_count_for_the_name(dora: User, bound: int) -> None:
    stranger = at(ELSEWHERE)
    for _ in range(7):
        sign_in(stranger, "dora", "wrong")
    for number in range(bound - 6):
        sign_in(at(f"198.51.100.{number}"), "dora", "wrong")
    sign_in(at(HOME), "dora")
    assert not refused(sign_in(at("198.51.100.200"), "dora", "wrong"))
    assert refused(sign_in(at("198.51.100.201"), "dora"))


@pytest.mark.parametrize("login", ["dora", EMAIL], ids=("name", "address"))
def test_a_reset_password_forgets_them(dora: User, bound: int, login: str) -> None:
    at_home = at(HOME)
    for _ in range(5):
        sign_in(at_home, login, "wrong")
    for number in range(bound - 5):
        sign_in(at(f"198.51.100.{number}"), login, "wrong")
    assert refused(sign_in(at_home, login))
    phone = at(ELSEWHERE)
    phone.post("/account/password/reset/", {"email": EMAIL})
    link = next(w for w in str(mail.outbox[-1].body).split() if "/account/password/reset/" in w)
    form = phone.get(link.partition("127.0.0.1:8000")[2])["Location"]
    new = f"{PASSWORD}-2"
    assert phone.post(form, {"password1": new, "password2": new}).status_code == 302
    sign_in(at_home, login, new)
    assert is_signed_in(at_home)


def test_signing_in_forgets_the_mistakes_before_it(dora: User) -> None:
    for _ in range(2):
        at_home = at(HOME)
        for _ in range(4):
            assert not refused(sign_in(at_home, "dora", "wrong"))
        sign_in(at_home, "dora")
        assert is_signed_in(at_home)


def test_keys_suit_every_cache(dora: User) -> None:
    dora.username = "a name with spaces, ünd a long one" * 4
    attempts.forget(dora)
    assert cache.get("") is None
