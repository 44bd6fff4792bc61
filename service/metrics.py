"""What operators watch, in the Prometheus text format. Labels are few: routes, states, devices."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from contract.job import Job
from contract.operations import Figures
from service.queue_metrics import QueueCollector

MEDIA_TYPE = CONTENT_TYPE_LATEST
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The figures of one service process, in a registry of its own."""

    def __init__(self) -> None:
        """Start all counters at nothing."""
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "halfbyte_http_requests",
            "Requests answered",
            ("method", "route", "status"),
            registry=registry,
        )
        self._durations = Histogram(
            "halfbyte_http_request_duration_seconds",
            "Time from request to the end of its answer; long polls and event streams included",
            ("method", "route"),
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        )
        self._open = Gauge(
            "halfbyte_http_requests_open", "Requests not yet answered in full", registry=registry
        )
        self._accepted = Counter(
            "halfbyte_jobs_accepted",
            "Jobs answered with 202 by this process, repetitions with a key included",
            ("mode", "device"),
            registry=registry,
        )
        self._queue = QueueCollector()
        registry.register(self._queue)

    def request_came(self) -> None:
        """Count a request as open."""
        self._open.inc()

    def request_answered(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count a request as answered. Whoever makes up methods gets no figures of their own."""
        self._open.dec()
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._durations.labels(known, route).observe(duration_s)

    def job_accepted(self, job: Job) -> None:
        """Count a job."""
        self._accepted.labels(job.mode, job.device).inc()

    def queue_seen(self, figures: Figures | None) -> None:
        """Take over how the queue is now; None where it is away: old figures would pass for new."""
        self._queue.seen = figures

    def exposition(self) -> bytes:
        """Return all figures as text."""
        text: bytes = generate_latest(self._registry)
        return text
