"""What /metrics tells: counts of a process, in a registry of its own, in Prometheus' text format."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_BOUNDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)


class _StepLatency(Collector):
    """A histogram of step times. Used from the event loop alone, so an observation is two additions and no lock."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def collect(self) -> Iterable[Metric]:
        buckets, total = [], 0
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], self._counts, strict=True):
            total += count
            buckets.append((bound, float(total)))
        name, text = "turngym_step_seconds", "Time in the environment per step"
        yield HistogramMetricFamily(name, text, buckets=buckets, sum_value=self._sum)


class _Gauges(Collector):
    """The environment's own gauges, read when somebody looks."""

    def __init__(self, read: Callable[[], Mapping[str, float]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        for name, value in self._read().items():
            yield GaugeMetricFamily(f"turngym_environment_{name}", "A gauge of the environment", value=value)


class Metrics:
    """The counters of one server. ``step``, ``created`` and the rest are called where the thing happens."""

    def __init__(self, environment: Callable[[], Mapping[str, float]]) -> None:
        self._registry = CollectorRegistry()
        self._latency = _StepLatency()
        self._registry.register(self._latency)
        self._registry.register(_Gauges(environment))
        self._created = Counter("turngym_sessions_created", "Sessions opened", registry=self._registry)
        self._ended = Counter(
            "turngym_sessions_ended", "Sessions ended", ["stop_reason"], registry=self._registry
        )
        self._failed = Counter(
            "turngym_sessions_failed", "Sessions failed", ["code"], registry=self._registry
        )
        self._problems = Counter("turngym_problems", "Problems answered", ["code"], registry=self._registry)
        self._rebuilds = Counter("turngym_rebuilds", "Sessions rebuilt by replay", registry=self._registry)
        self._differed = Counter(
            "turngym_replays_differing",
            "Sessions failed because their replay gave something else",
            registry=self._registry,
        )
        self.step = self._latency.observe

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Add the gauge ``turngym_<name>``, read when somebody looks."""
        Gauge(f"turngym_{name}", text, registry=self._registry).set_function(read)

    def created(self) -> None:
        """A session was opened."""
        self._created.inc()

    def ended(self, stop_reason: str) -> None:
        """A session ended."""
        self._ended.labels(str(stop_reason)).inc()

    def failed(self, code: str) -> None:
        """A session failed."""
        self._failed.labels(code).inc()

    def problem(self, code: str) -> None:
        """A problem was answered."""
        self._problems.labels(code).inc()

    def rebuilt(self) -> None:
        """A session was rebuilt by replay."""
        self._rebuilds.inc()

    def differed(self) -> None:
        """A session failed because its replay gave something else than it had seen."""
        self._differed.inc()

    def page(self) -> bytes:
        """The page for /metrics."""
        return generate_latest(self._registry)
