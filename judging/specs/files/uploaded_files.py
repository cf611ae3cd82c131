"""The files of one upload as a bundle: loose ones, those of a folder, and those in archives."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from judging.specs.files.archives import ArchiveLimits, bundle_from_upload, without_common_folder
from judging.specs.files.bundles import Bundle, bundle_from_files
from judging.specs.files.findings import Findings, error_rule
from judging.specs.files.problems import Parsed

TOO_LARGE = error_rule("upload-too-large", "Import it in parts.")
LIMITS = ArchiveLimits()

Files = Sequence[tuple[str, bytes]]


def bundle_of(files: Files) -> Parsed[Bundle]:
    """Return all uploaded files as one bundle; archives are unpacked into it."""
    findings = Findings()
    total = sum(len(data) for _, data in files)
    if total > LIMITS.max_total_bytes or len(files) > LIMITS.max_entries:
        message = f"The upload has {len(files):,} files and {total:,} bytes, which exceeds the limit."
        findings.add(TOO_LARGE, "", "", message)
        return Parsed(None, findings.as_tuple())
    if len(files) == 1 and "/" not in files[0][0]:
        return bundle_from_upload(*files[0])
    gathered: list[tuple[str, bytes]] = []
    for name, data in files:
        if zipfile.is_zipfile(io.BytesIO(data)) and name.lower().endswith(".zip"):
            unpacked = bundle_from_upload(name, data)
            findings.extend(unpacked.problems)
            gathered += list(unpacked.value.files.items()) if unpacked.value is not None else []
        else:
            gathered.append((name, data))
    bundle = bundle_from_files(without_common_folder(dict(gathered)).items() if _is_folder(gathered) else gathered)
    findings.extend(bundle.problems)
    return Parsed(None if findings.has_errors else bundle.value, findings.as_tuple())


def _is_folder(files: Files) -> bool:
    """Return whether all files lie in one folder, each once."""
    names = [name for name, _ in files]
    return all("/" in name for name in names) and len(set(names)) == len(names)
