"""What a benchmark found: printed, and written where it is to be kept."""

import json
from collections.abc import Mapping
from pathlib import Path


def keep(report: Mapping[str, object], out: Path | None) -> None:
    """Print a report, and write it to a file where one is named."""
    text = json.dumps(report, indent=1)
    print(text)
    if out is not None:
        out.write_text(text + "\n")
