"""Administration with plain values: topics, settings, groups, offsets."""
