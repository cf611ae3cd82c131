"""Addresses of this app."""

from __future__ import annotations

from django.urls import path

from debate import views
from debate import views as sets
from debate.actions.debate_sets import remove_labels
from debate.models import Debate, DebateSet, Experiment
from evalsite.base.actions.pages import button_page

app_name = "debate"
urlpatterns = [
    path("", sets.set_list, name="set-list"),
    path("new/", sets.set_create, name="set-create"),
    path("estimate/", sets.set_estimate, name="set-estimate"),
    path("imports/new/", views.record_create, name="record-create"),
    path(DebateSet.PAGE, sets.set_detail, name="set-detail"),
    path("sets/<int:set_id>/progress/", sets.set_progress, name="set-progress"),
    path("sets/<int:set_id>/exports/replication.zip", views.set_archive, name="set-archive"),
    path("sets/<int:set_id>/exports/<slug:table>.<slug:format_name>", views.set_export, name="set-export"),
    path("sets/<int:set_id>/labels/new/", views.label_create, name="label-create"),
    path(
        "sets/<int:key>/labels/delete/",
        button_page(remove_labels, back="debate:label-create"),
        name="label-delete",
    ),
    path(Experiment.PAGE, views.experiment_detail, name="experiment-detail"),
    path(Debate.PAGE, views.debate_detail, name="debate-detail"),
    path("statements/<int:statement_id>/", views.statement_detail, name="statement-detail"),
    path("<int:debate_id>/live/", views.debate_live, name="debate-live"),
]
