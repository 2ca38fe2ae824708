"""Consumer groups (KIP-848): the broker assigns, members follow at their own pace by heartbeats."""
