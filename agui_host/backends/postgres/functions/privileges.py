"""The right to execute the host's functions: only its roles have it.

PostgreSQL lets PUBLIC, which means every role that can connect, execute each new function.
"""

from django.core.management.base import CommandError
from django.db import connection

from agui_host.backends.postgres.roles import APPLICATION, WRITER, name

FUNCTIONS = """
select p.oid::regprocedure::text, p.prosecdef, p.proname ~ '^procrastinate_',
       exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))
                where grantee = 0)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = current_schema() and pg_has_role(p.proowner, 'member')
   and (p.proname ~ '^(agui|events|runs|runtimes|teams)_'
        or p.prosecdef and p.proname ~ '^procrastinate_')
"""
"""Ours: signature, whether it has its owner's rights, whether it is the queue's, whether PUBLIC can
execute it."""
FOREIGN = """
select p.oid::regprocedure::text, pg_get_userbyid(p.proowner)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = current_schema() and not pg_has_role(p.proowner, 'member')
   and (p.proname ~ '^(agui|events|runs|runtimes|teams)_'
        or p.prosecdef and p.proname ~ '^procrastinate_')
   and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
 order by 1
"""
"""Functions with our names that belong to another role: we can neither revoke nor grant them."""


class ForeignFunctions(CommandError):
    """Functions with our names belong to a role whose rights we do not have."""


def refuse_foreign() -> None:
    """Raises ForeignFunctions: PUBLIC can execute such a function, and we could not end that."""
    with connection.cursor() as cursor:
        cursor.execute(FOREIGN)
        rows = cursor.fetchall()
    if rows:
        names = ", ".join(f"{function} of {owner}" for function, owner in rows)
        raise ForeignFunctions(
            f"These functions belong to another role: {names}. As that role, or as a superuser, "
            "change their owner (alter function … owner to …) or drop them, and migrate again."
        )


def close() -> None:
    """Revoke from PUBLIC."""
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        for function, _, _, is_public in cursor.fetchall():
            if is_public:
                cursor.execute(f"revoke execute on function {function} from public")


def keep_open() -> None:
    """Let the roles, if an earlier migration made them, execute new functions at once.

    Processes of the previous release go on calling the functions that call the new ones.
    """
    with connection.cursor() as cursor:
        cursor.execute("select current_database()")
        (database,) = cursor.fetchone()
        roles = name(database, APPLICATION), name(database, WRITER)
        cursor.execute("select count(*) from pg_roles where rolname = any(%s)", [list(roles)])
        if cursor.fetchone()[0] == len(roles):
            grant(*roles)


def grant(application: str, writer: str) -> None:
    """Let the roles execute them; the writer only those without the owner's rights."""
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        for function, has_owners_rights, is_of_queue, _ in cursor.fetchall():
            if not is_of_queue:
                to = f'"{application}"' if has_owners_rights else f'"{application}", "{writer}"'
                cursor.execute(f"grant execute on function {function} to {to}")
