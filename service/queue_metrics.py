"""Figures of the queue as Prometheus has them. Counters come from Redis: no process owns them."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import get_args

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

from contract.job import JobState, WorkerState
from contract.operations import Figures
from contract.prelude import DURATION_BUCKETS_S
from contract.verdict import Outcome

COUNTERS = {
    "attempts": ("halfbyte_attempts", "Attempts at jobs: claims by workers"),
    "renewals": ("halfbyte_lease_renewals", "Renewals of leases"),
    "leases_expired": ("halfbyte_leases_expired", "Leases that ran out: workers lost"),
    "requeued": ("halfbyte_jobs_requeued", "Jobs put back into their place"),
}
ENDED = tuple(str(state) for state in JobState if state.ended)
BUCKETS = (*(str(float(limit_s)) for limit_s in DURATION_BUCKETS_S), "+Inf")


class QueueCollector:
    """Shows the figures that were seen last; nothing while the queue is away."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.seen: Figures | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield all families of metrics."""
        yield GaugeMetricFamily(
            "halfbyte_queue_up", "Whether the queue answers: 1 or 0", float(self.seen is not None)
        )
        if self.seen is not None:
            yield from _now(self.seen)
            yield from _counted(self.seen)
            yield _durations(self.seen)


def _now(figures: Figures) -> Iterator[Metric]:
    places = [((line.device, line.mode), line) for line in figures.lines]
    yield _gauge(
        "halfbyte_jobs_queued",
        "Jobs that wait",
        ("device", "mode"),
        ((place, line.waiting) for place, line in places),
    )
    yield _gauge(
        "halfbyte_oldest_queued_seconds",
        "Age of the oldest job that waits, from its submission",
        ("device", "mode"),
        ((place, line.oldest_s) for place, line in places),
    )
    yield GaugeMetricFamily("halfbyte_jobs_running", "Jobs that workers hold", figures.running)
    yield GaugeMetricFamily(
        "halfbyte_callbacks_waiting", "Callbacks not yet delivered", figures.callbacks
    )
    workers = [worker for worker, _ in figures.workers]
    yield _gauge(
        "halfbyte_workers",
        "Live workers; one that could not start or whose GPU failed its proof is `unhealthy`",
        ("device", "state"),
        (
            ((device, state), sum((each.device, each.state) == (device, state) for each in workers))
            for device in sorted({worker.device for worker in workers})
            for state in WorkerState
        ),
    )
    yield _gauge(
        "halfbyte_worker_heartbeat_age_seconds",
        "Time since the last heartbeat of a worker",
        ("worker", "device"),
        (((worker.id, worker.device), age_s) for worker, age_s in figures.workers),
    )


def _counted(figures: Figures) -> Iterator[Metric]:
    yield CounterMetricFamily("halfbyte_jobs_submitted", "Jobs accepted", figures.submitted)
    for name, (metric, words) in COUNTERS.items():
        yield CounterMetricFamily(metric, words, figures.counters.get(name, 0))
    ended = dict.fromkeys(ENDED, 0) | dict(figures.counted("ended"))
    yield _counter("halfbyte_jobs_ended", "Jobs that ended", "state", ended)
    yield _counter(
        "halfbyte_jobs_failed",
        "Jobs without a verdict, through a fault of ours",
        "reason",
        figures.counted("failed"),
    )
    results = dict.fromkeys(("delivered", "failed", "given_up"), 0)
    yield _counter(
        "halfbyte_callbacks",
        "Attempts at callbacks; the last one that may be made is `given_up`",
        "result",
        results | dict(figures.counted("callback")),
    )
    verdicts = dict.fromkeys(get_args(Outcome), 0) | dict(figures.counted("verdict"))
    yield _counter("halfbyte_verdicts", "Verdicts", "outcome", verdicts)


def _durations(figures: Figures) -> Metric:
    family = HistogramMetricFamily(
        "halfbyte_stage_duration_seconds",
        "Time that jobs were queued until a claim, and running until their end",
        labels=("stage", "mode"),
    )
    for labels, durations in sorted(figures.durations.items()):
        ends = zip(BUCKETS, accumulate(durations.counts), strict=True)
        family.add_metric(labels, list(ends), durations.sum_s)
    return family


def _gauge(
    name: str,
    words: str,
    labels: tuple[str, ...],
    values: Iterable[tuple[tuple[str, ...], float]],
) -> Metric:
    family = GaugeMetricFamily(name, words, labels=labels)
    for label_values, value in values:
        family.add_metric(label_values, value)
    return family


def _counter(name: str, words: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, words, labels=(label,))
    for label_value, value in sorted(values.items()):
        family.add_metric((label_value,), value)
    return family
