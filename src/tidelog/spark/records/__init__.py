"""Record batches to Arrow columns and back, whole columns at a time."""
