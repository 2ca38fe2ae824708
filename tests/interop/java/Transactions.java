import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactional producers, each step a command, and consumers of what is committed; ../transactor.py lists them. */
final class Transactions {
    private final String bootstrap;
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    Transactions(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("txn_open", telling(this::open));
        commands.put("txn_begin", telling(arguments -> {
            producer(arguments).beginTransaction();
            return null;
        }));
        commands.put("txn_send", telling(this::send));
        commands.put("txn_commit", telling(arguments -> {
            producer(arguments).commitTransaction();
            return null;
        }));
        commands.put("txn_abort", telling(arguments -> {
            producer(arguments).abortTransaction();
            return null;
        }));
        commands.put("txn_close", arguments -> {
            producers.remove(arguments.get("transactor").asText()).close(Duration.ZERO);
            return null;
        });
        commands.put("txn_copy", telling(this::copy));
        commands.put("read_committed", this::readCommitted);
    }

    /** The producer wraps errors of the broker in one that says that it can't go on. */
    private static Agent.Command telling(Agent.Command command) {
        return arguments -> {
            try {
                return command.run(arguments);
            } catch (KafkaException failure) {
                if (!(failure instanceof ApiException) && failure.getCause() instanceof KafkaException cause) {
                    throw cause;
                }
                throw failure;
            }
        };
    }

    private KafkaProducer<String, String> producer(JsonNode arguments) {
        return producers.get(arguments.get("transactor").asText());
    }

    private Object open(JsonNode arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", arguments.get("transactional_id").asText());
        settings.put("transaction.timeout.ms", arguments.get("timeout_ms").asText());
        settings.put("linger.ms", "0");
        var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producers.put(arguments.get("transactor").asText(), producer);
        producer.initTransactions();
        return null;
    }

    private Object send(JsonNode arguments) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : arguments.get("placed")) {
            sent.add(producer(arguments).send(new ProducerRecord<>(
                record.get(0).asText(), record.get(1).asInt(), null, record.get(2).asText())));
        }
        producer(arguments).flush();
        for (Future<RecordMetadata> one : sent) {
            one.get();
        }
        return null;
    }

    private KafkaConsumer<String, String> consumer(String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", "100");
        if (group != null) {
            settings.put("group.id", group);
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /** Reads so many records as a member of a group, writes them elsewhere, and commits both together, or nothing. */
    private Object copy(JsonNode arguments) throws Exception {
        int count = arguments.get("count").asInt();
        long deadline = System.currentTimeMillis() + arguments.get("patience_ms").asLong();
        var producer = producer(arguments);
        try (var consumer = consumer(arguments.get("group").asText())) {
            consumer.subscribe(List.of(arguments.get("source").asText()));
            for (int copied = 0; copied < count;) {
                if (System.currentTimeMillis() > deadline) {
                    throw new Agent.Unfinished("copy", copied);
                }
                var records = consumer.poll(Duration.ofMillis(100));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(
                        arguments.get("target").asText(), record.partition(), null, record.value()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (arguments.get("commit").asBoolean()) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
                copied += records.count();
            }
        }
        return null;
    }

    private Object readCommitted(JsonNode arguments) throws Exception {
        List<TopicPartition> places = new ArrayList<>();
        for (JsonNode index : arguments.get("partitions")) {
            places.add(new TopicPartition(arguments.get("topic").asText(), index.asInt()));
        }
        int count = arguments.get("count").asInt();
        long deadline = System.currentTimeMillis() + arguments.get("patience_ms").asLong();
        List<Object> found = new ArrayList<>();
        try (var consumer = consumer(null)) {
            consumer.assign(places);
            consumer.seekToBeginning(places);
            while (found.size() < count) {
                if (System.currentTimeMillis() > deadline) {
                    throw new Agent.Unfinished("read", found.size());
                }
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    found.add(List.of(record.partition(), record.value()));
                }
            }
        }
        return found;
    }
}
