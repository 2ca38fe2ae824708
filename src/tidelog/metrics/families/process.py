"""The process: Prometheus' usual names where there are some."""

from tidelog.metrics.family import counter, gauge, histogram

CPU_SECONDS = counter("process_cpu_seconds_total", "User and system CPU time.")
RESIDENT_BYTES = gauge("process_resident_memory_bytes", "Resident memory.")
VIRTUAL_BYTES = gauge("process_virtual_memory_bytes", "Virtual memory.")
OPEN_FILES = gauge("process_open_fds", "Open file descriptors.")
MAX_FILES = gauge("process_max_fds", "The limit of open file descriptors.")
START_TIME = gauge("process_start_time_seconds", "When the process started, in seconds since 1970.")
LOOP_LAG_SECONDS = histogram(
    "tidelog_event_loop_lag_seconds",
    "How late the event loop runs what is due, looked at several times a second.",
    kafka="kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
)
LOOP_BUSY_SECONDS = counter("tidelog_event_loop_cpu_seconds_total", "CPU time of the event loop's thread.")
GC_SECONDS = histogram("tidelog_gc_pause_seconds", "Pauses by Python's garbage collection.", "generation")
