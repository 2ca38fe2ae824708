import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** What only a cluster has: a quorum, elections, replicas that move, and several brokers to read from. */
final class Cluster implements AutoCloseable {
    private final String bootstrap;
    private final Admin admin;

    Cluster(String bootstrap) {
        this.bootstrap = bootstrap;
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "reconnect.backoff.max.ms", "500"));
    }

    @Override
    public void close() {
        admin.close();
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("describe_quorum", this::describeQuorum);
        commands.put("describe_features", this::describeFeatures);
        commands.put("elect_leaders", this::electLeaders);
        commands.put("reassign", this::reassign);
        commands.put("list_reassignments", this::listReassignments);
        commands.put("create_assigned", this::createAssigned);
        commands.put("add_assigned", this::addAssigned);
        commands.put("coordinator", this::coordinator);
        commands.put("read_in_rack", this::readInRack);
    }

    private Object describeQuorum(JsonNode arguments) throws Exception {
        QuorumInfo found = admin.describeMetadataQuorum().quorumInfo().get();
        Map<Integer, List<String>> endpoints = new HashMap<>();
        found.nodes().forEach((id, node) ->
            endpoints.put(id, node.endpoints().stream().map(one -> one.host() + ":" + one.port()).toList()));
        return Map.of("leader", found.leaderId(), "epoch", found.leaderEpoch(), "high_watermark", found.highWatermark(),
            "voters", replicas(found.voters()), "observers", replicas(found.observers()), "endpoints", endpoints);
    }

    private static Map<Integer, Object> replicas(List<QuorumInfo.ReplicaState> states) {
        Map<Integer, Object> found = new TreeMap<>();
        states.forEach(state -> found.put(state.replicaId(), List.of(state.replicaDirectoryId().toString(),
            state.logEndOffset(), state.lastCaughtUpTimestamp().orElse(-1), state.lastFetchTimestamp().orElse(-1))));
        return found;
    }

    private Object describeFeatures(JsonNode arguments) throws Exception {
        var found = admin.describeFeatures().featureMetadata().get();
        Map<String, List<Integer>> supported = new TreeMap<>();
        Map<String, Integer> finalized = new TreeMap<>();
        found.supportedFeatures().forEach((name, range) ->
            supported.put(name, List.of((int) range.minVersion(), (int) range.maxVersion())));
        found.finalizedFeatures().forEach((name, range) -> finalized.put(name, (int) range.maxVersionLevel()));
        return Map.of("supported", supported, "finalized", finalized);
    }

    /** What went wrong by partition; 0 is success. A partition that is missing needed no election. */
    private Object electLeaders(JsonNode arguments) throws Exception {
        var kind = ElectionType.valueOf(arguments.get("kind").asText());
        Set<TopicPartition> wanted = null;
        if (!arguments.get("places").isNull()) {
            wanted = new HashSet<>();
            for (JsonNode place : arguments.get("places")) {
                wanted.add(place(place));
            }
        }
        List<Object> outcome = new ArrayList<>();
        admin.electLeaders(kind, wanted).partitions().get().forEach((place, failure) -> outcome.add(List.of(
            place.topic(), place.partition(), failure.map(error -> (int) Errors.forException(error).code()).orElse(0))));
        return outcome;
    }

    private Object reassign(JsonNode arguments) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = new HashMap<>();
        for (JsonNode move : arguments.get("moves")) {
            moves.put(place(move), move.get(2).isNull()
                ? Optional.empty() : Optional.of(new NewPartitionReassignment(ids(move.get(2)))));
        }
        return admin.alterPartitionReassignments(moves).all().get();
    }

    private Object listReassignments(JsonNode arguments) throws Exception {
        List<Object> moving = new ArrayList<>();
        admin.listPartitionReassignments().reassignments().get().forEach((place, move) -> moving.add(List.of(
            place.topic(), place.partition(), move.replicas(), move.addingReplicas(), move.removingReplicas())));
        return moving;
    }

    private Object createAssigned(JsonNode arguments) throws Exception {
        Map<Integer, List<Integer>> assigned = new HashMap<>();
        arguments.get("replicas").forEach(replicas -> assigned.put(assigned.size(), ids(replicas)));
        return admin.createTopics(List.of(new NewTopic(arguments.get("topic").asText(), assigned))).all().get();
    }

    private Object addAssigned(JsonNode arguments) throws Exception {
        List<List<Integer>> assigned = new ArrayList<>();
        arguments.get("replicas").forEach(replicas -> assigned.add(ids(replicas)));
        var more = NewPartitions.increaseTo(arguments.get("total").asInt(), assigned);
        return admin.createPartitions(Map.of(arguments.get("topic").asText(), more)).all().get();
    }

    private Object coordinator(JsonNode arguments) throws Exception {
        String group = arguments.get("group").asText();
        return admin.describeConsumerGroups(List.of(group)).all().get().get(group).coordinator().id();
    }

    /** Reads a partition to `count` records, and tells how many bytes came from which broker. */
    private Object readInRack(JsonNode arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("client.rack", arguments.get("rack").asText());
        settings.put("max.partition.fetch.bytes", "100000"); // many fetches: the first may go to the leader
        TopicPartition place = new TopicPartition(arguments.get("topic").asText(), 0);
        long deadline = System.currentTimeMillis() + arguments.get("patience_ms").asLong();
        int read = 0;
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            while (read < arguments.get("count").asInt()) {
                if (System.currentTimeMillis() > deadline) {
                    throw new Agent.Unfinished("read in rack", read);
                }
                read += consumer.poll(Duration.ofMillis(200)).count();
            }
            Map<String, Long> bytes = new HashMap<>();
            consumer.metrics().forEach((name, metric) -> {
                String node = name.tags().getOrDefault("node-id", "");
                if (name.name().equals("incoming-byte-total") && node.matches("node-\\d+")) {
                    bytes.put(node.substring("node-".length()), ((Double) metric.metricValue()).longValue());
                }
            });
            return bytes;
        }
    }

    private static TopicPartition place(JsonNode named) {
        return new TopicPartition(named.get(0).asText(), named.get(1).asInt());
    }

    private static List<Integer> ids(JsonNode numbers) {
        List<Integer> found = new ArrayList<>();
        numbers.forEach(number -> found.add(number.asInt()));
        return found;
    }
}
