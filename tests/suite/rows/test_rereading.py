"""A fact is read again after each transaction that has written, and only then."""

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from tests.suite.rows.rereading import Reread
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_read_again_after_another_connection_wrote() -> None:
    reads = []
    number_of_users = Reread(lambda: reads.append(1) or User.objects.count())
    assert [number_of_users(), number_of_users()] == [0, 0]
    assert len(reads) == 1
    together(lambda: User.objects.create(username="alice"))
    assert number_of_users() == 1
    together(lambda: User.objects.update(username="bob"))
    number_of_users()
    assert len(reads) == 3


def test_a_transaction_that_goes_on_is_noticed_when_it_ends() -> None:
    number_of_users = Reread(User.objects.count)
    with transaction.atomic():
        User.objects.create(username="alice")
        assert together(number_of_users) == [0]
    assert together(number_of_users) == [1]
    assert connection.in_atomic_block is False
