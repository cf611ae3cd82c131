from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0038_comments_on_items")]

    operations = [
        migrations.AddField(model_name="queue", name="views", field=models.JSONField(blank=True, default=dict)),
    ]
