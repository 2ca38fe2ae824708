"""A partition on this broker, as leader or follower: in-sync set, high watermark, who waits for it."""
