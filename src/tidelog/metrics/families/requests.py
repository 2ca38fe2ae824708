"""Requests by API, and where their time goes."""

from tidelog.metrics.family import counter, gauge, histogram

_KAFKA = "kafka.network:type=RequestMetrics,name={},request=*"

REQUESTS = counter(
    "tidelog_requests_total", "Requests answered.", "api", kafka=_KAFKA.format("RequestsPerSec")
)
REQUEST_ERRORS = counter(
    "tidelog_request_errors_total",
    "Answers by error code, counted once a request and code; requests without an error are not here.",
    "api",
    "error",
    kafka=_KAFKA.format("ErrorsPerSec") + ",error=*",
)
REQUEST_SECONDS = histogram(
    "tidelog_request_seconds",
    "From the moment when a request is taken up to its answer; queue, throttle and send are not part of it.",
    "api",
    kafka=_KAFKA.format("TotalTimeMs"),
)
REQUEST_PART_SECONDS = histogram(
    "tidelog_request_part_seconds",
    "Parts of the time of requests: queue (behind others in a turn of the loop; of a sample of requests), "
    "local (in this broker), remote (waiting for followers, disks, other brokers or more data), throttle "
    "(held back by a quota), send (until a client whose socket was full has taken the answer).",
    "api",
    "part",
    kafka=_KAFKA.format("RequestQueueTimeMs|LocalTimeMs|RemoteTimeMs|ThrottleTimeMs|ResponseSendTimeMs"),
)
REQUEST_BYTES = counter(
    "tidelog_request_bytes_total", "Bytes of requests.", "api", kafka=_KAFKA.format("RequestBytes")
)
RESPONSE_BYTES = counter("tidelog_response_bytes_total", "Bytes of answers.", "api")
REQUESTS_IN_FLIGHT = gauge(
    "tidelog_requests_in_flight",
    "Requests that wait for their answer in this broker.",
    kafka="kafka.network:type=RequestChannel,name=RequestQueueSize",
)
SLOW_REQUESTS = counter(
    "tidelog_slow_requests_total", "Requests that took longer than log.slow.requests.ms.", "api"
)
