"""What the benchmarks share: a broker in its own process, prebuilt frames, load generators, bare servers."""
