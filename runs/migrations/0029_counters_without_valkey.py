from django.db import migrations

MAKE = """
create unlogged table agui_counter (
    key text primary key, value text not null, until timestamptz
) with (fillfactor = 70);
create unlogged table agui_seat (
    owner text, seat text, until timestamptz not null, primary key (owner, seat)
) with (fillfactor = 70);
"""


class Migration(migrations.Migration):
    """What web processes count together if ``REDIS_URL`` is empty."""

    dependencies = [("runs", "0028_one_scope")]
    operations = [migrations.RunSQL(MAKE, "drop table agui_counter; drop table agui_seat")]
