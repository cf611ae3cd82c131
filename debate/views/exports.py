"""Downloads of a set of debates: its tables, and all of it for a replication."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils.text import slugify

from debate.exports import COLUMNS, TABLE_FORMATS, debate_table, replication_archive
from debate.models import DebateSet
from debate.selectors.sets import sets_by_id
from evalsite.accounts.audit import record
from evalsite.base.http import PageRequest, get_view, table_response


@get_view("debate.view_debateset")
def set_export(request: PageRequest, set_id: int, table: str, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """One table of a set as CSV or JSONL."""
    if table not in COLUMNS or format_name not in TABLE_FORMATS:
        raise Http404("There is no such table or format.")
    if table == "labels" and not request.user.has_perm("debate.add_debateset"):
        raise PermissionDenied  # it names raters
    owner = _set(set_id)
    record(request.user, "report.exported", owner, table=table, format=format_name)
    return table_response(debate_table(table, [owner]), format_name, file_name=f"{owner.name} {table}")


@get_view("debate.add_debateset")  # it names raters
def set_archive(request: PageRequest, set_id: int) -> StreamingHttpResponse:
    """Everything that a replication needs, as a ZIP archive."""
    owner = _set(set_id)
    record(request.user, "report.exported", owner, table="all", format="zip")
    name = f"{slugify(owner.name)}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(replication_archive([owner]), content_type="application/zip", headers=headers)


def _set(set_id: int) -> DebateSet:
    debate_sets = sets_by_id([set_id])
    if not debate_sets:
        raise Http404(f"There is no set of debates {set_id}.")
    return debate_sets[0]
