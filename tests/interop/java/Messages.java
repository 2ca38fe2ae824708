import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Producing, reading assigned partitions, and looking up offsets by time. */
final class Messages {
    private static final int EARLIEST = -2;
    private static final int LATEST = -1;

    private final String bootstrap;

    Messages(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("produce", this::produce);
        commands.put("consume", this::consume);
        commands.put("offset_for_time", this::offsetForTime);
    }

    private Object produce(JsonNode arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", arguments.get("codec").asText());
        settings.put("acks", arguments.get("acks").asText());
        settings.put("enable.idempotence", arguments.get("idempotent").asText());
        settings.put("max.request.size", "8000000");
        settings.put("batch.size", arguments.get("small_batches").asBoolean() ? "1000" : "65536");
        settings.put("linger.ms", "5");
        if (arguments.has("settings")) {
            arguments.get("settings").properties().forEach(one -> settings.put(one.getKey(), one.getValue().asText()));
        }
        String topic = arguments.get("topic").asText();
        List<Long> offsets = new ArrayList<>();
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode fields : arguments.get("records")) {
                Long timestamp = fields.get(3).isNull() ? null : fields.get(3).asLong();
                var record = new ProducerRecord<byte[], byte[]>(
                    topic, fields.get(4).asInt(), timestamp, bytes(fields.get(0)), bytes(fields.get(1)));
                for (JsonNode header : fields.get(2)) {
                    record.headers().add(header.get(0).asText(), bytes(header.get(1)));
                }
                sent.add(producer.send(record));
            }
            producer.flush();
            for (Future<RecordMetadata> future : sent) {
                offsets.add(future.get().offset());
            }
        }
        return offsets;
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("auto.offset.reset", "none");
        settings.put("enable.auto.commit", "false");
        settings.put("max.poll.records", "100000");
        settings.put("fetch.max.wait.ms", "100"); // closing waits for the fetch that is under way
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private Object consume(JsonNode arguments) throws Exception {
        int count = arguments.get("count").asInt();
        int start = arguments.get("start").asInt();
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode partition : arguments.get("partitions")) {
            partitions.add(new TopicPartition(arguments.get("topic").asText(), partition.asInt()));
        }
        long deadline = System.currentTimeMillis() + arguments.get("patience_ms").asLong();
        List<Object> records = new ArrayList<>();
        try (var consumer = consumer()) {
            consumer.assign(partitions);
            if (start == EARLIEST) {
                consumer.seekToBeginning(partitions);
            } else if (start == LATEST) {
                consumer.seekToEnd(partitions);
            } else {
                partitions.forEach(partition -> consumer.seek(partition, start));
            }
            while (records.size() < count) {
                if (System.currentTimeMillis() > deadline) {
                    throw new Agent.Unfinished("consume", records.size());
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    if (records.size() < count) {
                        records.add(fields(record));
                    }
                }
            }
        }
        return records;
    }

    private Object offsetForTime(JsonNode arguments) {
        var partition = new TopicPartition(arguments.get("topic").asText(), arguments.get("partition").asInt());
        try (var consumer = consumer()) {
            var found = consumer.offsetsForTimes(Map.of(partition, arguments.get("time_ms").asLong())).get(partition);
            return found == null ? -1 : found.offset();
        }
    }

    private static List<Object> fields(ConsumerRecord<byte[], byte[]> record) {
        List<Object> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(Arrays.asList(header.key(), text(header.value())));
        }
        boolean appendTime = record.timestampType() == TimestampType.LOG_APPEND_TIME;
        return Arrays.asList(text(record.key()), text(record.value()), headers, record.timestamp(),
            record.partition(), record.offset(), appendTime);
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
