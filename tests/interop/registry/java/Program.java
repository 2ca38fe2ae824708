import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Confluent's Java serializers: `write` and `read` records, and `look` at what a registry says. */
public final class Program {
    private static final String FIELDS = "{\"name\":\"name\",\"type\":\"string\"},{\"name\":\"count\",\"type\":\"int\"}";
    private static final String MORE = ",{\"name\":\"more\",\"type\":\"int\"}";

    private final String bootstrap;
    private final String url;
    private final String topic;

    private Program(String bootstrap, String url, String topic) {
        this.bootstrap = bootstrap;
        this.url = url;
        this.topic = topic;
    }

    public static void main(String[] arguments) throws Exception {
        Program program = new Program(arguments[0], arguments[1], arguments[3]);
        switch (arguments[2]) {
            case "write" -> System.out.println(program.write(Integer.parseInt(arguments[4])));
            case "read" -> System.out.println(program.read(Integer.parseInt(arguments[4])));
            default -> System.out.println(program.look());
        }
    }

    private static Schema event(String more) {
        String text = "{\"type\":\"record\",\"name\":\"Event\",\"namespace\":\"interop\",\"fields\":[" + FIELDS + more + "]}";
        return new Schema.Parser().parse(text);
    }

    private Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("schema.registry.url", url);
        settings.put("auto.offset.reset", "earliest");
        return settings;
    }

    private String write(int count) throws Exception {
        Schema schema = event("");
        try (KafkaAvroSerializer serializer = new KafkaAvroSerializer()) {
            serializer.configure(settings(), false);
            try (KafkaProducer<byte[], Object> producer =
                    new KafkaProducer<>(settings(), new ByteArraySerializer(), serializer)) {
                for (int number = 0; number < count; number++) {
                    GenericRecord value = new GenericData.Record(schema);
                    value.put("name", "java");
                    value.put("count", number);
                    producer.send(new ProducerRecord<>(topic, value)).get();
                }
            }
        }
        try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(url, 10)) {
            return "{\"id\":" + client.getId(topic + "-value", new AvroSchema(schema)) + "}";
        }
    }

    private String read(int count) {
        List<String> found = new ArrayList<>();
        try (KafkaAvroDeserializer deserializer = new KafkaAvroDeserializer()) {
            deserializer.configure(settings(), false);
            try (KafkaConsumer<byte[], Object> consumer =
                    new KafkaConsumer<>(settings(), new ByteArrayDeserializer(), deserializer)) {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
                while (found.size() < count) {
                    for (ConsumerRecord<byte[], Object> record : consumer.poll(Duration.ofMillis(500))) {
                        GenericRecord value = (GenericRecord) record.value();
                        found.add("[\"" + value.get("name") + "\"," + value.get("count") + "]");
                    }
                }
            }
        }
        return "[" + String.join(",", found) + "]";
    }

    private String look() throws Exception {
        String subject = topic + "-value";
        AvroSchema narrow = new AvroSchema(event(""));
        AvroSchema wide = new AvroSchema(event(MORE));
        try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(url, 10)) {
            int id = client.register(subject, narrow);
            int latest = client.getLatestSchemaMetadata(subject).getId();
            int version = client.getVersion(subject, narrow);
            boolean compatible = client.testCompatibility(subject, wide);
            List<String> messages = client.testCompatibilityVerbose(subject, wide);
            int incompatible = code(() -> client.register(subject, wide));
            int unknown = code(() -> client.getSchemaById(987654));
            client.updateCompatibility(subject, "NONE");
            client.register(subject, wide);
            List<Integer> versions = client.getAllVersions(subject);
            boolean listed = client.getAllSubjects().contains(subject);
            String level = client.getCompatibility(subject);
            client.deleteSchemaVersion(subject, "2");
            client.deleteSchemaVersion(subject, "2", true);
            return String.format(
                    "{\"id\":%d,\"latest\":%d,\"version\":%d,\"compatible\":%s,\"messages\":%d,\"incompatible\":%d,"
                            + "\"unknown_id\":%d,\"versions\":%s,\"listed\":%s,\"level\":\"%s\",\"left\":%s}",
                    id, latest, version, compatible, messages.size(), incompatible, unknown, versions, listed, level,
                    client.getAllVersions(subject));
        }
    }

    private interface Attempt {
        void run() throws Exception;
    }

    private static int code(Attempt attempt) throws Exception {
        try {
            attempt.run();
            return 0;
        } catch (RestClientException refused) {
            return refused.getErrorCode();
        }
    }
}
