"""One statement sees each change that a query would show."""

import pytest
from django.contrib.auth.models import User

from tests.suite.rows.glance import Glance

pytestmark = pytest.mark.django_db


def test_each_query_has_its_rows() -> None:
    queries = (
        User.objects.filter(username__in=["alice", "bob"]).values_list("username", "last_name"),
        User.objects.filter(username="%s").order_by("pk").values_list("email"),
    )
    glance, states = Glance(*queries), []
    states.append(glance())
    User.objects.create(username="bob", last_name="B")
    states.append(glance())
    User.objects.create(username="alice")
    User.objects.create(username="carol")
    states.append(glance())
    User.objects.filter(username="bob").update(last_name="C")
    states.append(glance())
    User.objects.create(username="%s", email="a, b")
    states.append(glance())
    assert states == [
        (None, None),
        (["(bob,B)"], None),
        (['(alice,"")', "(bob,B)"], None),
        (['(alice,"")', "(bob,C)"], None),
        (['(alice,"")', "(bob,C)"], ['("a, b")']),
    ]
