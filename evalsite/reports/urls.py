"""Addresses of this app."""

from __future__ import annotations

from django.urls import path

from evalsite.reports.views import agreement, bias, debates, judges, labels, runs, spend, trust
from evalsite.reports.views.boards import board_bundles, leaderboards, shares, suite_charts
from evalsite.reports.views.golden import (
    golden_items,
    golden_sets,
    golden_tests,
    golden_versions,
    golden_wordings,
)
from evalsite.reports.views.results import cases, result_questions, results, saved_views
from evalsite.review.models import LabelTable, Queue

app_name = "reports"
QUEUES = {"subjects": Queue.objects.all()}
LABELS = {"subjects": LabelTable.objects.select_related("evaluator__run")}
urlpatterns = [
    path("leaderboards/", leaderboards.leaderboard_list, name="leaderboard-list"),
    path("leaderboards/<int:suite_id>/board/", leaderboards.board_detail, name="board-detail"),
    path("leaderboards/<int:suite_id>/board/pin/", leaderboards.board_pin, name="board-pin"),
    path("leaderboards/<int:suite_id>/board.<slug:format_name>", leaderboards.board_export, name="board-export"),
    path("leaderboards/<int:suite_id>/", leaderboards.leaderboard_detail, name="leaderboard-detail"),
    path("leaderboards/<int:suite_id>/pair/", leaderboards.leaderboard_compare, name="leaderboard-compare"),
    path("leaderboards/<int:suite_id>/breakdown/", leaderboards.leaderboard_breakdown, name="leaderboard-breakdown"),
    path("leaderboards/<int:suite_id>/means.svg", leaderboards.leaderboard_chart, name="leaderboard-chart"),
    path("leaderboards/<int:suite_id>/pages.zip", board_bundles.leaderboard_bundle, name="leaderboard-bundle"),
    path(
        "leaderboards/<int:suite_id>/exports/<slug:table>.<slug:format_name>",
        leaderboards.leaderboard_export,
        name="leaderboard-export",
    ),
    path("leaderboards/<int:suite_id>/charts/", suite_charts.charts_detail, name="charts-detail"),
    path(
        "leaderboards/<int:suite_id>/charts/exports/<slug:table>.<slug:format_name>",
        suite_charts.charts_export,
        name="charts-export",
    ),
    path("results/", results.results_newest, name="results-newest"),
    path("results/<int:suite_id>/", results.results_detail, name="results-detail"),
    path(
        "results/<int:suite_id>/exports/<slug:table>.<slug:format_name>", results.results_export, name="results-export"
    ),
    path("results/<int:suite_id>/send/", result_questions.results_send, name="results-send"),
    path("results/<int:suite_id>/views/save/", saved_views.view_save, name="view-save"),
    path("results/views/<int:view_id>/delete/", saved_views.view_delete, name="view-delete"),
    path("shares/", shares.share_list, name="share-list"),
    path("shares/<int:link_id>/revoke/", shares.share_revoke, name="share-revoke"),
    path("shared/<slug:token>/", shares.shared_board, name="shared-board"),
    path("shared/<slug:token>/results/", shares.shared_results, name="shared-results"),
    path("cases/<int:case_id>/responses.<slug:format_name>", cases.case_export, name="case-export"),
    path("runs/<int:run_id>/", runs.run_results, name="run-results"),
    path("agreement/", agreement.agreement_list, name="agreement-list"),
    path("agreement/<slug:slug>/", agreement.agreement_detail, QUEUES, name="agreement-detail"),
    path("agreement/<slug:slug>/items/", agreement.agreement_items, QUEUES, name="agreement-items"),
    path("agreement/<slug:slug>/confusion/", agreement.agreement_confusion, QUEUES, name="agreement-confusion"),
    path(
        "agreement/<slug:slug>/exports/<slug:table>.<slug:format_name>",
        agreement.agreement_export,
        QUEUES,
        name="agreement-export",
    ),
    path("debates/", debates.debate_report, name="debate-report"),
    path("debates/items/", debates.debate_items, name="debate-items"),
    path("debates/exports/<slug:table>.<slug:format_name>", debates.debate_export, name="debate-export"),
    path("debates/bias/", bias.debate_bias, name="debate-bias"),
    path("debates/bias/exports/<slug:table>.<slug:format_name>", bias.debate_bias_export, name="debate-bias-export"),
    path("arena/", debates.arena, name="arena"),
    path("arena/exports/<slug:table>.<slug:format_name>", debates.arena_export, name="arena-export"),
    path("robustness/", debates.robustness_list, name="robustness-list"),
    path("robustness/<int:experiment_id>/", debates.robustness_detail, name="robustness-detail"),
    path(
        "robustness/<int:experiment_id>/exports/<slug:table>.<slug:format_name>",
        debates.robustness_export,
        name="robustness-export",
    ),
    path("labels/new/", labels.labels_create, name="labels-create"),
    path("labels/items/<int:item_id>/", labels.labels_item, name="labels-item"),
    path("labels/<slug:slug>/", agreement.agreement_detail, LABELS, name="labels-detail"),
    path("labels/<slug:slug>/items/", agreement.agreement_items, LABELS, name="labels-items"),
    path("labels/<slug:slug>/confusion/", agreement.agreement_confusion, LABELS, name="labels-confusion"),
    path("labels/<slug:slug>/delete/", labels.labels_delete, name="labels-delete"),
    path(
        "labels/<slug:slug>/exports/<slug:table>.<slug:format_name>",
        agreement.agreement_export,
        LABELS,
        name="labels-export",
    ),
    path("judges/", judges.judge_list, name="judge-list"),
    path("judges/detail/", judges.judge_detail, name="judge-detail"),
    path("judges/trust/", trust.judge_trust, name="judge-trust"),
    path("judges/bias/", bias.judge_bias, name="judge-bias"),
    path("judges/bias/exports/<slug:table>.<slug:format_name>", bias.bias_export, name="bias-export"),
    path("judges/threshold/", trust.judge_threshold, name="judge-threshold"),
    path("judges/threshold/remove/", trust.threshold_remove, name="threshold-remove"),
    path("judges/certificate/", trust.certificate_issue, name="certificate-issue"),
    path("judges/anchors/", trust.anchors_make, name="anchors-make"),
    path("judges/anchors/ask/", trust.anchors_ask, name="anchors-ask"),
    path("judges/charts/<slug:chart>.svg", trust.trust_chart, name="trust-chart"),
    path("judges/trust/exports/<slug:table>.<slug:format_name>", trust.trust_export, name="trust-export"),
    path("judges/exports/<slug:table>.<slug:format_name>", judges.judge_export, name="judge-export"),
    path("golden/", golden_sets.golden_list, name="golden-list"),
    path("golden/new/", golden_sets.golden_create, name="golden-create"),
    path("golden/<int:set_id>/", golden_sets.golden_detail, name="golden-detail"),
    path("golden/<int:set_id>/run/", golden_versions.golden_run, name="golden-run"),
    path("golden/<int:set_id>/compare/", golden_versions.golden_compare, name="golden-compare"),
    path(
        "golden/<int:set_id>/disagreements/<int:evaluator_id>/",
        golden_versions.golden_disagreements,
        name="golden-disagreements",
    ),
    path(
        "golden/<int:set_id>/exports/<slug:table>.<slug:format_name>",
        golden_versions.golden_export,
        name="golden-export",
    ),
    path("golden/<int:set_id>/examples/", golden_items.golden_examples, name="golden-examples"),
    path("golden/<int:set_id>/items/<int:item_id>/", golden_items.golden_item, name="golden-item"),
    path("golden/<int:set_id>/items/<int:item_id>/example/", golden_items.golden_example, name="golden-example"),
    path("golden/<int:set_id>/items/<int:item_id>/rule/", golden_items.golden_rule, name="golden-rule"),
    path("golden/<int:set_id>/items/<int:item_id>/doubt/", golden_items.golden_doubt, name="golden-doubt"),
    path("golden/<int:set_id>/rules/<int:rule_id>/delete/", golden_items.golden_rule_delete, name="golden-rule-delete"),
    path("golden/<int:set_id>/propose/<int:evaluator_id>/", golden_wordings.golden_propose, name="golden-propose"),
    path("golden/<int:set_id>/wording/<int:proposal_id>/", golden_wordings.golden_wording, name="golden-wording"),
    path("golden/<int:set_id>/open/<int:evaluator_id>/", golden_tests.golden_open, name="golden-open"),
    path("golden/<int:set_id>/test/<int:evaluator_id>/", golden_tests.golden_test, name="golden-test"),
    path("golden/<int:set_id>/test/<int:evaluator_id>/use/", golden_tests.golden_use, name="golden-use"),
    path("spend/", spend.spend_report, name="spend-report"),
    path("spend/exports/<slug:table>.<slug:format_name>", spend.spend_export, name="spend-export"),
]
