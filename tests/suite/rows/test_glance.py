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
    glance, seen = Glance(*queries), []
    seen.append(glance())
    User.objects.create(username="bob", last_name="B")
    seen.append(glance())
    User.objects.create(username="alice")
    User.objects.create(username="carol")
    seen.append(glance())
    User.objects.filter(username="bob").update(last_name="C")
    seen.append(glance())
    User.objects.create(username="%s", email="a, b")
    seen.append(glance())
    assert seen == [
        (None, None),
        (["(bob,B)"], None),
        (['(alice,"")', "(bob,B)"], None),
        (['(alice,"")', "(bob,C)"], None),
        (['(alice,"")', "(bob,C)"], ['("a, b")']),
    ]
