"""Addresses of this app, and what it shows on pages of the apps below."""

from __future__ import annotations

from django.shortcuts import redirect
from django.urls import path

from evalsite.base.actions.pages import button_page, file_page, form_page
from evalsite.base.page_parts import add_part, set_row_part, subject_as
from evalsite.reports.actions import agreement as agreement_acts
from evalsite.reports.actions import boards as board_acts
from evalsite.reports.actions import golden as golden_acts
from evalsite.reports.actions import judge_versions, publications
from evalsite.reports.models import OfficialBoard, SavedView, StoredGate
from evalsite.reports.views import agreement, boards, judges, results
from evalsite.review.models import GoldenItem, GoldenSet, LabelTable, Queue, WordingProposal

app_name = "reports"
QUEUES = {"subjects": Queue.objects.all()}
LABELS = {"subjects": LabelTable.objects.select_related("evaluator__run")}
urlpatterns = [
    path("leaderboards/", boards.leaderboard_list, name="leaderboard-list"),
    path(OfficialBoard.PAGE, boards.board_detail, name="board-detail"),
    path(
        "leaderboards/<int:key>/board/pin/",
        button_page(publications.pin, back="reports:board-detail"),
        name="board-pin",
    ),
    path(
        "leaderboards/<int:key>/board/unpin/",
        button_page(publications.unpin, back="reports:board-detail"),
        name="board-unpin",
    ),
    path("leaderboards/<int:suite_id>/board.<slug:format_name>", boards.board_export, name="board-export"),
    path("leaderboards/<int:suite_id>/", boards.leaderboard_detail, name="leaderboard-detail"),
    path("leaderboards/<int:suite_id>/pair/", boards.leaderboard_compare, name="leaderboard-compare"),
    path("leaderboards/<int:suite_id>/breakdown/", boards.leaderboard_breakdown, name="leaderboard-breakdown"),
    path("leaderboards/<int:suite_id>/means.svg", boards.leaderboard_chart, name="leaderboard-chart"),
    path("leaderboards/<int:suite_id>/pages.zip", boards.leaderboard_bundle, name="leaderboard-bundle"),
    path(
        "leaderboards/<int:suite_id>/exports/<slug:table>.<slug:format_name>",
        boards.leaderboard_export,
        name="leaderboard-export",
    ),
    path("leaderboards/<int:suite_id>/charts/", boards.charts_detail, name="charts-detail"),
    path(
        "leaderboards/<int:suite_id>/charts/exports/<slug:table>.<slug:format_name>",
        boards.charts_export,
        name="charts-export",
    ),
    path("results/", results.results_newest, name="results-newest"),
    path(SavedView.PAGE, results.results_detail, name="results-detail"),
    path(
        "results/<int:suite_id>/exports/<slug:table>.<slug:format_name>", results.results_export, name="results-export"
    ),
    path("results/<int:suite_id>/send/", results.results_send, name="results-send"),
    path("results/<int:suite_id>/views/save/", results.view_save, name="view-save"),
    path("results/views/<int:key>/delete/", button_page(publications.delete), name="view-delete"),
    path(StoredGate.PAGE, form_page(board_acts.create, boards.PAGE, context=boards.gates_context), name="gate-list"),
    path("gates/<int:key>/check/", button_page(board_acts.check), name="gate-check"),
    path("gates/<int:key>/delete/", button_page(board_acts.delete), name="gate-delete"),
    path("badges/<slug:badge>.svg", boards.gate_badge, name="gate-badge"),
    path("shares/", boards.share_list, name="share-list"),
    path(
        "shares/<int:key>/revoke/",
        button_page(publications.revoke, answer=lambda *_: redirect("reports:share-list")),
        name="share-revoke",
    ),
    path("shared/<slug:token>/", boards.shared_board, name="shared-board"),
    path("shared/<slug:token>/results/", boards.shared_results, name="shared-results"),
    path("cases/<int:case_id>/responses.<slug:format_name>", results.case_export, name="case-export"),
    path("runs/<int:run_id>/", results.run_results, name="run-results"),
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
    path("agreement/<slug:slug>/data-set.zip", file_page(agreement_acts.export_data_set), name="agreement-data-set"),
    path("debates/", judges.debate_report, name="debate-report"),
    path("debates/items/", judges.debate_items, name="debate-items"),
    path("debates/exports/<slug:table>.<slug:format_name>", judges.debate_export, name="debate-export"),
    path("debates/bias/", judges.debate_bias, name="debate-bias"),
    path("debates/bias/exports/<slug:table>.<slug:format_name>", judges.debate_bias_export, name="debate-bias-export"),
    path("arena/", judges.arena, name="arena"),
    path("arena/exports/<slug:table>.<slug:format_name>", judges.arena_export, name="arena-export"),
    path("robustness/", judges.robustness_list, name="robustness-list"),
    path("robustness/<int:experiment_id>/", judges.robustness_detail, name="robustness-detail"),
    path(
        "robustness/<int:experiment_id>/exports/<slug:table>.<slug:format_name>",
        judges.robustness_export,
        name="robustness-export",
    ),
    path("labels/new/", agreement.labels_create, name="labels-create"),
    path("labels/items/<int:item_id>/", agreement.labels_item, name="labels-item"),
    path(LabelTable.PAGE, agreement.agreement_detail, LABELS, name="labels-detail"),
    path("labels/<slug:slug>/items/", agreement.agreement_items, LABELS, name="labels-items"),
    path("labels/<slug:slug>/confusion/", agreement.agreement_confusion, LABELS, name="labels-confusion"),
    path(
        "labels/<slug:slug>/delete/",
        button_page(agreement_acts.delete),
        name="labels-delete",
    ),
    path(
        "labels/<slug:slug>/exports/<slug:table>.<slug:format_name>",
        agreement.agreement_export,
        LABELS,
        name="labels-export",
    ),
    path("judges/", judges.judge_list, name="judge-list"),
    path("judges/detail/", judges.judge_detail, name="judge-detail"),
    path("judges/trust/", judges.judge_trust, name="judge-trust"),
    path("judges/bias/", judges.judge_bias, name="judge-bias"),
    path("judges/bias/exports/<slug:table>.<slug:format_name>", judges.bias_export, name="bias-export"),
    path("judges/threshold/", judges.judge_threshold, name="judge-threshold"),
    path("judges/threshold/remove/", judges.version_button(judge_versions.drop_threshold), name="threshold-remove"),
    path("judges/certificate/", judges.version_button(judge_versions.certify), name="certificate-issue"),
    path("judges/anchors/", judges.version_button(judge_versions.make_anchors), name="anchors-make"),
    path("judges/anchors/ask/", judges.version_button(judge_versions.ask_again), name="anchors-ask"),
    path("judges/charts/<slug:chart>.svg", judges.trust_chart, name="trust-chart"),
    path("judges/trust/exports/<slug:table>.<slug:format_name>", judges.trust_export, name="trust-export"),
    path("judges/exports/<slug:table>.<slug:format_name>", judges.judge_export, name="judge-export"),
    path("golden/", agreement.golden_list, name="golden-list"),
    path(
        "golden/new/",
        form_page(
            golden_acts.create, "reports/golden_create.html", context=agreement.new_set, preview=golden_acts.count
        ),
        name="golden-create",
    ),
    path(GoldenSet.PAGE, agreement.golden_detail, name="golden-detail"),
    path(
        "golden/<int:key>/run/",
        form_page(golden_acts.run, "reports/golden_run.html", context=agreement.of_set, preview=golden_acts.estimate),
        name="golden-run",
    ),
    path("golden/<int:set_id>/compare/", agreement.golden_compare, name="golden-compare"),
    path(
        "golden/<int:set_id>/disagreements/<int:evaluator_id>/",
        agreement.golden_disagreements,
        name="golden-disagreements",
    ),
    path(
        "golden/<int:set_id>/exports/<slug:table>.<slug:format_name>",
        agreement.golden_export,
        name="golden-export",
    ),
    path("golden/<int:set_id>/examples/", agreement.golden_examples, name="golden-examples"),
    path(GoldenItem.PAGE, agreement.golden_item, name="golden-item"),
    path("golden/items/<int:key>/example/", button_page(golden_acts.add_to_examples), name="golden-example"),
    path("golden/items/<int:key>/rule/", button_page(golden_acts.note), name="golden-rule"),
    path("golden/items/<int:key>/doubt/", button_page(golden_acts.doubt), name="golden-doubt"),
    path("golden/<int:key>/rules/delete/", button_page(golden_acts.remove_rule), name="golden-rule-delete"),
    path(
        "golden/<int:key>/propose/",
        form_page(
            golden_acts.propose,
            "reports/golden_propose.html",
            context=agreement.proposing,
            preview=golden_acts.estimate_wording,
            answer=lambda _request, proposal: redirect(proposal),
        ),
        name="golden-propose",
    ),
    path(WordingProposal.PAGE, agreement.golden_wording, name="golden-wording"),
    path("golden/wordings/<int:key>/accept/", button_page(golden_acts.accept), name="golden-wording-accept"),
    path(
        "golden/<int:key>/open/",
        form_page(golden_acts.open_for, "reports/golden_open.html", context=agreement.opening),
        name="golden-open",
    ),
    path("golden/<int:set_id>/test/<int:evaluator_id>/", agreement.golden_test, name="golden-test"),
    path("golden/<int:key>/use/", button_page(golden_acts.use), name="golden-use"),
    *(
        path(
            f"{report}/<slug:slug>/exports/<slug:table>.<slug:format_name>",
            agreement.queue_export,
            {"report": report},
            name=f"{report}-export",
        )
        for report in agreement.REPORTS
    ),
    path("spend/", judges.spend_report, name="spend-report"),
    path("spend/exports/<slug:table>.<slug:format_name>", judges.spend_export, name="spend-export"),
]

add_part("judging.import_actions", "reports/_import_actions.html", subject_as("suite_id"))
add_part("judging.import_labels", "reports/_import_labels.html", agreement.imported_labels)
add_part("judging.case_responses", "reports/_case_responses.html", results.answers_of)
add_part("judging.run_actions", "reports/_run_actions.html", judges.compared_run)
add_part("judging.run_results", "reports/_run_results.html", results.results_of)
add_part("judging.run_results", "reports/_run_gates.html", boards.gates_of_run)
add_part("judging.system", "reports/_system_profile.html", results.profile_shown)
add_part("judging.judges_tabs", "reports/_judges_tab.html", subject_as("tab"))
add_part("judging.judge_actions", "reports/_judge_actions.html", judges.compared_versions)
add_part("judging.judge", "reports/_judge_versions.html", judges.figures_of)
set_row_part("judging.judge_rows", "reports/_judge_row.html", judges.newest_figures)
add_part("debate.set_reports", "reports/_set_actions.html", subject_as("debate_set"))
add_part("debate.experiment_actions", "reports/_experiment_actions.html", subject_as("experiment"))
add_part("review.queue_figures", "reports/_queue_figures.html", agreement.queue_figures)
add_part("review.queue_pace", "reports/_queue_pace.html", agreement.queue_pace)
add_part("review.run_people", "reports/_run_labels.html", subject_as("run"))
