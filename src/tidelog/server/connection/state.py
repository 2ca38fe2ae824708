"""The states of a connection, from the first frame to the end.

BUSY <-> AT_REST        a turn begins; a turn is over, and nothing is owed or half received
BUSY, AT_REST -> DRAINING       the broker stops, or a reply says so: no further request is taken
DRAINING -> LINGERING   all responses are sent, but the client is still sending
any -> CLOSED           once
"""

from enum import Enum
from typing import Final


class ConnectionState(Enum):
    AT_REST = "at rest"
    """Nothing is owed, half received or held back: a small frame that arrives alone is answered at once."""
    BUSY = "busy"
    """Requests are under way, responses are queued, a frame is half received, or a limit is reached."""
    DRAINING = "draining"
    """Requests under way are answered, and then the connection ends."""
    LINGERING = "lingering"
    """What arrives is dropped while the client takes the last response.

    To close a socket with unread input resets the connection, which may destroy a response on its way.
    """
    CLOSED = "closed"


# As globals of their own, since these are compared with every request.
AT_REST: Final = ConnectionState.AT_REST
BUSY: Final = ConnectionState.BUSY
DRAINING: Final = ConnectionState.DRAINING
LINGERING: Final = ConnectionState.LINGERING
CLOSED: Final = ConnectionState.CLOSED
