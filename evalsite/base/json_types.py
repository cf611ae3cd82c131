"""Names for data as JSON holds it: inside are only dict, list, str, int, float, bool and None.

What such data holds is checked where it is read; the type checker does not follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]  # read only
JsonDict = dict[str, Any]
