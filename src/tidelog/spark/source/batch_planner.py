"""What a batch query reads: from where its options say to where they say, as the logs are now."""

from tidelog.blocking.cluster import Cluster
from tidelog.blocking.log_bounds import LogBounds
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.offsets import find_partitions, resolve
from tidelog.spark.source.options import SourceOptions
from tidelog.spark.source.planning import OffsetRange


def batch_ranges(options: SourceOptions, cluster: Cluster) -> list[OffsetRange]:
    found = find_partitions(cluster, options.subscription)
    found.require_all()
    bounds = LogBounds(cluster, read_committed=options.read_committed)
    starts = resolve(options.starting, found.partitions, bounds)
    ends = resolve(options.ending, found.partitions, bounds)
    loss = LossReport(fails=options.fail_on_data_loss)
    if options.ending.offsets:  # the only way to ask for more than there is
        for partition, latest in sorted(bounds.latest(found.partitions).items()):
            if ends[partition] > latest:
                loss.report(f"{partition}: endingOffsets is {ends[partition]}, and the log ends at {latest}")
                ends[partition] = latest
    ranges = [
        OffsetRange(partition, starts[partition], ends[partition], found.topic_ids[partition.topic])
        for partition in found.partitions
    ]
    return [each for each in ranges if each.size > 0]
