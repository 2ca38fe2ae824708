import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.metadata.properties.MetaProperties;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** Reads the small files of a data folder as Kafka's broker does: arguments are the folder and a partition in it. */
public class SmallFiles {
    private static final String[] CHECKPOINTS = {
        "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"
    };

    public static void main(String[] args) throws Exception {
        File data = new File(args[0]);
        File partition = new File(data, args[1]);
        LogDirFailureChannel failures = new LogDirFailureChannel(10);
        for (String name : CHECKPOINTS) {
            Map<String, Long> found = new TreeMap<>();
            new OffsetCheckpointFile(new File(data, name), failures)
                    .read().forEach((TopicPartition key, Long offset) -> found.put(key.toString(), offset));
            System.out.println(name + " " + found);
        }
        System.out.println(
                "epochs " + new LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.newFile(partition), failures).read());
        System.out.println("topic "
                + new PartitionMetadataFile(PartitionMetadataFile.newFile(partition), failures).read().topicId());
        MetaProperties meta = new MetaProperties.Builder(
                Utils.loadProps(new File(data, "meta.properties").getPath())).build();
        System.out.println("meta " + meta.clusterId().get() + " " + meta.nodeId().getAsInt() + " " + meta.directoryId().get());
    }
}
