"""Draw kept kernel times as an SVG picture.

    python3 bench/draw_kernel_times.py bench/results/h200/kernels.json docs/kernel_times.svg

A row of bars a case, each as long as its median over the floor of the case, so that cases of any
length stand side by side; the number behind a bar is the median.
"""

import json
import sys
from html import escape
from pathlib import Path
from typing import Any

BARS = {
    "ours": ("hopper", "#1b7f5c"),
    "cublas_graph": ("cuBLAS fp16, operands decoded before, CUDA graph", "#4a6fa5"),
    "cublas_eager": ("the same, eager", "#8fa8cc"),
    "torch_grouped_mm": ("torch._grouped_mm bf16, operands decoded before", "#b9a36b"),
}
"""Entries of `times`, their words and colours."""
LEFT, WIDTH, BAR, GAP = 110, 860, 13, 20
MOST = 8.0
"""Floors, at which a bar is cut."""


def text(x: float, y: float, words: str, **attributes: str) -> str:
    written = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{written}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}"/>'


def case_rows(name: str, case: dict[str, Any], top: float, scale: float) -> list[str]:
    """Return the bars of a case, below `top`."""
    rows = [text(0, top + BAR, name.replace("_", " "), font_weight="bold")]
    rows.append(text(0, top + 2 * BAR + 2, f"floor {case['floor_us']:.1f} us", fill="#555"))
    y = top
    for entry, (_, colour) in BARS.items():
        if entry not in case["times"]:
            continue
        median_us = case["times"][entry]["median_us"]
        floors = median_us / case["floor_us"]
        length = min(floors, MOST) * scale
        beyond = f" ({floors:.0f} floors)" if floors > MOST else ""
        rows.append(rect(LEFT, y, length, BAR - 2, colour))
        rows.append(text(LEFT + length + 5, y + BAR - 3, f"{median_us:.1f} us{beyond}"))
        y += BAR
    return rows


def picture(report: dict[str, Any]) -> str:
    """Return the SVG of a report of bench/kernel_times.py."""
    scale = (WIDTH - LEFT - 120) / MOST
    parts, top = [], 40.0
    for index, (words, colour) in enumerate(BARS.values()):
        x, y = 410 * (index % 2), 14 + 15 * (index // 2)
        parts += [rect(x, y - 9, 10, 10, colour), text(x + 15, y, words)]
    start = top
    for name, case in report["cases"].items():
        parts += case_rows(name, case, top, scale)
        top += sum(entry in case["times"] for entry in BARS) * BAR + GAP
    line = LEFT + scale
    parts.append(
        f'<line x1="{line}" x2="{line}" y1="{start - 4}" y2="{top - GAP + 4}" '
        'stroke="#b03030" stroke-dasharray="4 3"/>'
    )
    machine = report["machine"]
    source = f"{machine['gpu']}, torch {machine['torch']}, CUDA {machine['cuda']}; cold L2, medians"
    parts.append(text(0, top + 6, f"dashed: the floor (speed of light). {source}", fill="#555"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 0 {WIDTH + 16} {top + 14:.0f}" '
        'font-family="sans-serif" font-size="11">\n'
        f'<rect x="-8" width="{WIDTH + 16}" height="{top + 14:.0f}" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main(source: str, target: str) -> None:
    Path(target).write_text(picture(json.loads(Path(source).read_text())))


if __name__ == "__main__":
    main(*sys.argv[1:])
