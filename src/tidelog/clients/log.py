"""The log of all clients, whichever of them writes to it."""

import logging

LOG = logging.getLogger("tidelog.clients")
