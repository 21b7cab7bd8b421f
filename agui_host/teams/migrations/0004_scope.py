from django.db import migrations

# The scope of the connection: the one place that reads it. Policies, the view of words and every
# function with its owner's rights ask these. Policies and the view call them in a subselect, which
# PostgreSQL evaluates once for a statement. They stay when the app is migrated back: policies of
# other apps' tables use them.
FUNCTIONS = """
create or replace function agui_reaches_all() returns boolean language sql stable as $$
    select coalesce(current_setting('agui.teams', true) = '*', false)
$$;
create or replace function agui_reached() returns uuid[] language sql stable as $$
    select string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("teams", "0003_socket_tickets")]
    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
