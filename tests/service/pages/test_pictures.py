"""Pictures: what they show is where it has to be, and they can stand alone."""

import base64
import re
from dataclasses import replace
from hashlib import sha256
from xml.etree import ElementTree

import pytest

from contract.roofline import find_device
from service.pages.axes import Axis
from service.pages.roofline import roofline_of
from service.pages.samples import SIDE, samples_of
from tests.service.pages.found import GPU, V1, finished, hostile

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (Axis(0, 100, 0, 100), ["0", "20", "40", "60", "80", "100"]),
        (Axis(37.9, 41.2, 0, 100), ["38", "39", "40", "41"]),
        (Axis(0.93, 1.07, 0, 100), ["0.95", "1", "1.05"]),
        (Axis(60, 2000, 0, 100, logarithmic=True), ["100", "200", "500", "1 000", "2 000"]),
        (Axis(1, 1e7, 0, 100, logarithmic=True), None),
    ],
)
def test_an_axis_marks_a_few_round_values(axis, labels):
    ticks = axis.ticks(5)
    assert 2 <= len(ticks) <= 8
    assert [tick.at for tick in ticks] == sorted(tick.at for tick in ticks)
    assert all(0 <= tick.at <= 100 for tick in ticks)
    if labels is not None:
        assert [tick.label.replace("\u202f", " ") for tick in ticks] == labels


def test_an_axis_ends_where_it_ends():
    axis = Axis(10, 1000, 50, 450, logarithmic=True)
    assert [axis.at(value) for value in (1, 10, 100, 1000, 10**6)] == [50, 50, 250, 450, 450]
    assert Axis(0, 10, 300, 0).at(2.5) == 225


def test_a_case_lies_under_the_roof_by_its_distance_to_the_speed_of_light():
    chart = roofline_of(V1)
    rates = find_device(GPU).attainable
    assert "790 TFLOP/s and 4.3 TB/s, measured" in chart.roof_text
    (_, slope_end, top_end) = chart.roof
    assert slope_end[1] == top_end[1]
    for point, case in zip(chart.points, V1.cases, strict=True):
        assert case.timing.tflops * 1e12 < rates.flops_per_s
        # These cases are bound by arithmetic: the roof above them is its flat part.
        assert point.roof_y == pytest.approx(slope_end[1], abs=0.2)
        assert point.x > slope_end[0]
        assert point.y > point.roof_y
    by_speed = sorted(chart.points, key=lambda point: -point.y)
    shares = [V1.cases[p.index].timing.fraction_of_speed_of_light for p in by_speed]
    assert shares == sorted(shares)


def test_a_case_bound_by_memory_lies_under_the_slope():
    small = V1.cases[3]
    bound_by_memory = {
        "tflops": 20.0,
        "gbytes_per_s": 2150.0,
        "fraction_of_speed_of_light": 0.5,
    }
    slow = small.model_copy(update={"timing": replace(small.timing, **bound_by_memory)})
    chart = roofline_of(V1.model_copy(update={"cases": (slow, *V1.cases[:1])}))
    point = chart.points[0]
    (x0, y0), (x1, y1), _ = chart.roof
    on_slope = y0 + (y1 - y0) * (point.x - x0) / (x1 - x0)
    assert point.roof_y == pytest.approx(on_slope, abs=0.5)


def test_a_device_of_unknown_rates_has_no_roof():
    unknown = V1.environment.model_copy(update={"gpu": "NVIDIA Z9"})
    chart = roofline_of(V1.model_copy(update={"environment": unknown}))
    assert chart.roof == ()
    assert len(chart.points) == 4
    assert "not known" in chart.roof_text


def test_rates_that_were_not_measured_are_called_so():
    b200 = V1.environment.model_copy(update={"gpu": "NVIDIA B200"})
    chart = roofline_of(V1.model_copy(update={"environment": b200}))
    assert "the vendor's rates, not measured" in chart.roof_text


def test_every_sample_is_drawn_or_counted():
    chart = samples_of(V1)
    assert len(chart.rows) == 4
    for row in chart.rows:
        (side,) = row.sides
        assert side.p10_x < side.median_x < side.p90_x
        heights = [height for *_, height in side.bars]
        tallest = round(SIDE / min(heights))  # some bar stands for a single sample
        assert sum(round(tallest * height / SIDE) for height in heights) == 240 - side.beyond
        assert side.beyond == row.beyond < 30
        assert all(chart.frame.left <= x <= chart.frame.right for x, *_ in side.bars)


def test_samples_that_are_all_the_same_can_be_drawn():
    case = V1.cases[0]
    same = {"median_us": 5.0, "p10_us": 5.0, "p90_us": 5.0, "samples_us": (5.0,) * 10}
    still = case.model_copy(update={"timing": replace(case.timing, **same)})
    (row,) = samples_of(V1.model_copy(update={"cases": (still,)})).rows
    (side,) = row.sides
    assert side.p10_x == side.median_x == side.p90_x
    assert len(side.bars) == 1


def test_nothing_timed_is_nothing_to_draw():
    assert roofline_of(hostile()) is None
    assert samples_of(hostile()) is None


@pytest.mark.parametrize("name", ["roofline", "samples"])
async def test_a_picture_stands_alone(http, queue, name):
    job = await finished(queue, V1)
    answer = await http.get(f"/v1/jobs/{job}/{name}.svg")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    picture = ElementTree.fromstring(answer.text)
    assert picture.tag == f"{SVG}svg"
    assert picture.get("role") == "img"
    named = {each.get("id"): each.text for each in picture.iter() if each.get("id")}
    title, text = (named[each] for each in picture.get("aria-labelledby").split())
    assert title
    assert all(f"Case {index}" in text for index in range(4))
    (style,) = picture.iter(f"{SVG}style")
    digest = base64.b64encode(sha256(style.text.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]
    assert "prefers-color-scheme: dark" in style.text
    assert not list(picture.iter(f"{SVG}script"))
    assert "NaN" not in re.sub("<style>.*?</style>", "", answer.text, flags=re.DOTALL)


async def test_a_job_without_times_has_no_pictures(http, queue):
    job = await finished(queue, hostile())
    for name in ("roofline", "samples"):
        answer = await http.get(f"/v1/jobs/{job}/{name}.svg")
        assert answer.status_code == 404
        assert answer.json()["detail"].endswith("has no times to draw")
