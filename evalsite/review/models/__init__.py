"""Tables of what people are asked and answer. Thin: fields, constraints and names."""

from evalsite.review.models.annotations import Annotation, Assignment, Look
from evalsite.review.models.final_labels import Adjudication, FinalLabel, Provenance
from evalsite.review.models.golden_sets import (
    GoldenItem,
    GoldenRule,
    GoldenRun,
    GoldenSet,
    ProposalStatus,
    WordingProposal,
)
from evalsite.review.models.items import Material, Referral, ReviewItem, Subject
from evalsite.review.models.label_tables import ImportedLabel, LabelledItem, LabelTable
from evalsite.review.models.notices import MailChoice, Notice, NoticeKind
from evalsite.review.models.queues import LEFT_OUT, AuditPlan, OrderPolicy, Queue
from evalsite.review.models.trust import Anchor, AnchorRound, AnchorSet, Certificate, EvaluatorThreshold

__all__ = [
    "Adjudication",
    "Anchor",
    "AnchorRound",
    "AnchorSet",
    "Annotation",
    "Assignment",
    "AuditPlan",
    "Certificate",
    "EvaluatorThreshold",
    "FinalLabel",
    "GoldenItem",
    "GoldenRule",
    "GoldenRun",
    "GoldenSet",
    "ImportedLabel",
    "LEFT_OUT",
    "LabelTable",
    "LabelledItem",
    "Look",
    "MailChoice",
    "Material",
    "Notice",
    "NoticeKind",
    "OrderPolicy",
    "ProposalStatus",
    "Provenance",
    "Queue",
    "Referral",
    "ReviewItem",
    "Subject",
    "WordingProposal",
]
