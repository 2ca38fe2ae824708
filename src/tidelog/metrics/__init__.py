"""Metrics without I/O: the table of all metrics, histograms, and the page that a scrape fills."""
