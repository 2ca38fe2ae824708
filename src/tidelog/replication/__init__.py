"""A partition on this broker, as leader or follower: in-sync set, high watermark, waiting requests."""
