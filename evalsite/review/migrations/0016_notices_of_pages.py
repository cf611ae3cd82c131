"""Lets notices speak of any page, and tells people of their runs."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give each notice the name and address of its queue."""
    queues = {queue.pk: queue for queue in apps.get_model("review", "Queue").objects.only("name", "slug")}
    notices = apps.get_model("review", "Notice").objects
    for queue_id in notices.order_by().values_list("queue", flat=True).distinct():
        queue = queues[queue_id]
        notices.filter(queue=queue_id).update(name=queue.name[:200], address=f"/review/queues/{queue.slug}/")


class Migration(migrations.Migration):

    dependencies = [
        ('review', '0015_plain_words'),
    ]

    operations = [
        migrations.RemoveConstraint(model_name='notice', name='notice_unread_once'),
        migrations.AddField(model_name='notice', name='name', field=models.CharField(default='', max_length=200), preserve_default=False),
        migrations.AddField(model_name='notice', name='address', field=models.CharField(default='', max_length=200), preserve_default=False),
        migrations.AddField(model_name='notice', name='detail', field=models.CharField(blank=True, max_length=300), preserve_default=False),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(model_name='notice', name='queue'),
        migrations.AlterField(
            model_name='notice',
            name='kind',
            field=models.CharField(choices=[('assigned', 'Assigned to you'), ('split', 'Needs adjudication'), ('done', 'Queue complete'), ('flagged', 'Item flagged'), ('stuck', 'No annotator left'), ('run_ended', 'Run ended'), ('run_paused', 'Run paused')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.UniqueConstraint(condition=models.Q(('read_at', None)), fields=('person', 'kind', 'address'), name='notice_unread_once'),
        ),
    ]
