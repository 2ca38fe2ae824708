import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The admin client: topics, configs, offsets, log folders. */
final class Topics implements AutoCloseable {
    private final Admin admin;

    Topics(String bootstrap) {
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    @Override
    public void close() {
        admin.close();
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("create_topic", this::createTopic);
        commands.put("list_topics", arguments -> admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
        commands.put("describe_topic", this::describeTopic);
        commands.put("describe_configs", this::describeConfigs);
        commands.put("alter_configs", this::alterConfigs);
        commands.put("list_config_resources", arguments -> admin.listConfigResources().all().get().toString());
        commands.put("add_partitions", arguments -> admin.createPartitions(
            Map.of(topic(arguments), NewPartitions.increaseTo(arguments.get("total").asInt()))).all().get());
        commands.put("delete_records", this::deleteRecords);
        commands.put("delete_topic", arguments -> admin.deleteTopics(List.of(topic(arguments))).all().get());
        commands.put("describe_cluster", this::describeCluster);
        commands.put("log_sizes", this::logSizes);
        commands.put("find_offset", this::findOffset);
    }

    private Object createTopic(JsonNode arguments) throws Exception {
        Map<String, String> configs = new HashMap<>();
        for (var config : arguments.get("configs").properties()) {
            configs.put(config.getKey(), config.getValue().asText());
        }
        var created = new NewTopic(topic(arguments), arguments.get("partitions").asInt(),
            (short) arguments.get("replication_factor").asInt()).configs(configs);
        var options = new CreateTopicsOptions().validateOnly(arguments.get("validate_only").asBoolean());
        return admin.createTopics(List.of(created), options).all().get();
    }

    private Object describeTopic(JsonNode arguments) throws Exception {
        var found = admin.describeTopics(List.of(topic(arguments))).allTopicNames().get().get(topic(arguments));
        List<Object> partitions = new ArrayList<>();
        for (var partition : found.partitions()) {
            partitions.add(List.of(partition.partition(), partition.leader().id(),
                partition.replicas().stream().map(Node::id).toList(), partition.isr().stream().map(Node::id).toList()));
        }
        return partitions;
    }

    private Object describeConfigs(JsonNode arguments) throws Exception {
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        var found = admin.describeConfigs(List.of(resource(arguments)), options).all().get().get(resource(arguments));
        List<Object> entries = new ArrayList<>();
        for (ConfigEntry entry : found.entries()) {
            List<Object> synonyms = new ArrayList<>();
            entry.synonyms().forEach(synonym -> synonyms.add(Arrays.asList(synonym.name(), synonym.value())));
            entries.add(Arrays.asList(entry.name(), entry.value(), entry.isDefault(), entry.isReadOnly(),
                entry.isSensitive(), synonyms));
        }
        return entries;
    }

    private Object alterConfigs(JsonNode arguments) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        for (JsonNode change : arguments.get("changes")) {
            String value = change.get(2).isNull() ? null : change.get(2).asText();
            changes.add(new AlterConfigOp(new ConfigEntry(change.get(1).asText(), value),
                AlterConfigOp.OpType.valueOf(change.get(0).asText().toUpperCase(Locale.ROOT))));
        }
        return admin.incrementalAlterConfigs(Map.of(resource(arguments), changes)).all().get();
    }

    private Object deleteRecords(JsonNode arguments) throws Exception {
        var before = RecordsToDelete.beforeOffset(arguments.get("before").asLong());
        return admin.deleteRecords(Map.of(partition(arguments), before))
            .lowWatermarks().get(partition(arguments)).get().lowWatermark();
    }

    private Object describeCluster(JsonNode arguments) throws Exception {
        var found = admin.describeCluster();
        List<Object> brokers = new ArrayList<>();
        for (Node node : found.nodes().get()) {
            brokers.add(List.of(node.id(), node.host() + ":" + node.port()));
        }
        return Map.of("cluster_id", found.clusterId().get(), "controller", found.controller().get().id(),
            "brokers", brokers);
    }

    private Object logSizes(JsonNode arguments) throws Exception {
        List<Integer> brokers = admin.describeCluster().nodes().get().stream().map(Node::id).toList();
        List<Object> sizes = new ArrayList<>();
        for (var folders : admin.describeLogDirs(brokers).allDescriptions().get().values()) {
            for (var folder : folders.values()) {
                folder.replicaInfos().forEach((partition, replica) -> {
                    if (partition.topic().equals(topic(arguments))) {
                        sizes.add(List.of(partition.partition(), replica.size()));
                    }
                });
            }
        }
        return sizes;
    }

    private Object findOffset(JsonNode arguments) throws Exception {
        long spec = arguments.get("spec").asLong();
        OffsetSpec wanted = spec == -1 ? OffsetSpec.latest()
            : spec == -2 ? OffsetSpec.earliest()
            : spec == -3 ? OffsetSpec.maxTimestamp()
            : OffsetSpec.forTimestamp(spec);
        return admin.listOffsets(Map.of(partition(arguments), wanted)).partitionResult(partition(arguments)).get().offset();
    }

    private static String topic(JsonNode arguments) {
        return arguments.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode arguments) {
        return new TopicPartition(topic(arguments), arguments.get("partition").asInt());
    }

    private static ConfigResource resource(JsonNode arguments) {
        var type = ConfigResource.Type.valueOf(arguments.get("kind").asText().toUpperCase(Locale.ROOT));
        return new ConfigResource(type, arguments.get("name").asText());
    }
}
