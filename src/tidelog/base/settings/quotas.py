"""How quotas are measured, and how many connections may be opened. The quotas themselves are metadata."""

from tidelog.base.addresses import address_text
from tidelog.base.config.setting import INT_MAX, Dynamic, Importance, Kind, Scope, Setting, Value

_WINDOWS = "The number of windows that {} is measured over; a client may use at once what it saved in them."
_SECONDS = "The length of each window that {} is measured over, in seconds."
_RATES = "the rate of a client with a quota"
_MUTATIONS = "the rate of a client's changes to topics"


def parse_overrides(pairs: Value) -> dict[str, int]:
    """`192.0.2.1:100` and so on, by address. ValueError with a reason a person can act on."""
    limits: dict[str, int] = {}
    for pair in pairs if isinstance(pairs, tuple) else ():
        host, _, count = pair.rpartition(":")
        try:
            address = address_text(host.strip("[]"))
        except ValueError:
            address = ""
        if not address or not count.isdecimal():
            raise ValueError(f"{pair!r} is not ADDRESS:COUNT, such as 192.0.2.1:100")
        limits[address] = int(count)
    return limits


def _check_overrides(value: Value) -> str | None:
    try:
        parse_overrides(value)
    except ValueError as error:
        return str(error)
    return None


SETTINGS = (
    Setting(
        "quota.window.num",
        Kind.INT,
        11,
        _WINDOWS.format(_RATES),
        minimum=1,
        importance=Importance.LOW,
    ),
    Setting(
        "quota.window.size.seconds",
        Kind.INT,
        1,
        _SECONDS.format(_RATES),
        minimum=1,
        importance=Importance.LOW,
    ),
    Setting(
        "controller.quota.window.num",
        Kind.INT,
        11,
        _WINDOWS.format(_MUTATIONS),
        minimum=1,
        importance=Importance.LOW,
    ),
    Setting(
        "controller.quota.window.size.seconds",
        Kind.INT,
        1,
        _SECONDS.format(_MUTATIONS),
        minimum=1,
        importance=Importance.LOW,
    ),
    Setting(
        "max.connection.creation.rate",
        Kind.INT,
        INT_MAX,
        "The maximum number of connections that the broker accepts in a second. Beyond it the listener "
        "pauses, and further connections wait. `listener.name.NAME.max.connection.creation.rate` limits one "
        "listener. The listener between brokers is not held up by the others. Quotas limit single addresses.",
        minimum=1,
        dynamic=Dynamic.CLUSTER_WIDE,
        scope=Scope.LISTENER,
    ),
    Setting(
        "max.connections.per.ip.overrides",
        Kind.LIST,
        (),
        "The maximum number of connections for single addresses, as `ADDRESS:COUNT`, in place of "
        "`max.connections.per.ip`.",
        dynamic=Dynamic.CLUSTER_WIDE,
        check=_check_overrides,
    ),
)
