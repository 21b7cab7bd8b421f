"""The database's functions and triggers: those of this release, and closed to others."""

from django.conf import settings
from django.db import connection

from agui_host.backends.postgres.functions import install, sql_files
from agui_host.doctor.checks.roles import MIGRATE, names, some
from agui_host.doctor.findings import Fault, check

STORED = """
select p.proname, coalesce(obj_description(p.oid, 'pg_proc'), ''), md5(pg_get_functiondef(p.oid)),
       exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))
                where grantee = 0),
       has_function_privilege(coalesce((select oid from pg_roles where rolname = %s),
                                       p.proowner), p.oid, 'execute')
  from pg_proc p where p.pronamespace = current_schema()::regnamespace
   and p.proname = any (%s) order by 1
"""
TRIGGERS = """
select t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
 where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal
   and t.tgparentid = 0 and t.tgenabled <> 'D'
"""


@check("functions", needs="migrations")
def functions() -> str | list[Fault]:
    """Whether they are installed as the files have them, with the rights of our roles alone."""
    files = sql_files.read()
    expected = {function.name: function for function in files.functions}
    application, _ = names()
    with connection.cursor() as cursor:
        cursor.execute("select quote_ident(current_schema())")
        schema = str(cursor.fetchone()[0])
        cursor.execute(STORED, [application, list(expected)])
        rows = cursor.fetchall()
        cursor.execute(TRIGGERS)
        triggers = {name for (name,) in cursor.fetchall()}
    intact, public, closed = set(), [], []
    for name, comment, definition, is_public, is_usable in rows:
        digest = sql_files.digest(expected[name].statement(schema))
        if comment == f"{install.MARK} {digest} {definition}":
            intact.add(name)
        if is_public:
            public.append(name)
        if settings.AGUI_DATABASE_ROLES and not is_usable:
            closed.append(name)
    missing = sorted(expected.keys() - intact)
    missing += sorted({trigger.name for trigger in files.triggers} - triggers)
    faults = []
    if missing:
        faults.append(Fault(f"Missing, disabled or changed: {some(missing)}.", MIGRATE))
    if public:
        faults.append(Fault(f"Every role can execute {some(public)}.", MIGRATE))
    if closed:
        faults.append(Fault(f"The role {application} cannot execute {some(closed)}.", MIGRATE))
    return faults or f"{len(expected)} functions, {len(files.triggers)} triggers"
