from datetime import UTC

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Sum
from django.db.models.functions import Coalesce, TruncHour


def add_up_tokens(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Add up the tokens of the calls that are there, hour by hour of each endpoint."""
    call_hour = apps.get_model("judging", "CallHour")
    hours = {(row.endpoint_id, row.hour): row for row in call_hour.objects.all()}
    rows = (
        apps.get_model("judging", "Call").objects.annotate(hour=TruncHour("finished_at", tzinfo=UTC))
        .order_by()
        .values_list("endpoint_id", "hour")
        .annotate(prompts=Coalesce(Sum("prompt_tokens"), 0), replies=Coalesce(Sum("completion_tokens"), 0))
    )
    changed = []
    for endpoint_id, hour, prompt_tokens, completion_tokens in rows.iterator(chunk_size=2000):
        row = hours.get((endpoint_id, hour))
        if row is not None:
            row.prompt_tokens, row.completion_tokens = prompt_tokens, completion_tokens
            changed.append(row)
    call_hour.objects.bulk_update(changed, ["prompt_tokens", "completion_tokens"], batch_size=500)


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0040_at_stake'),
    ]

    operations = [
        migrations.AddField(
            model_name='callhour',
            name='completion_tokens',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='callhour',
            name='prompt_tokens',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.RunPython(add_up_tokens, migrations.RunPython.noop),
    ]
