import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a share group, which takes and acknowledges as it is told, or works by itself on a thread of its own. */
final class ShareMember {
    private final KafkaShareConsumer<byte[], byte[]> consumer;
    private final boolean explicit;
    private final Map<List<Object>, ConsumerRecord<byte[], byte[]>> held = new HashMap<>();
    private final ConcurrentLinkedQueue<List<Object>> notes = new ConcurrentLinkedQueue<>();
    private Thread working;
    private volatile boolean stopping;

    ShareMember(JsonNode wanted) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", wanted.get("bootstrap").asText());
        settings.put("client.id", "java");
        settings.put("group.id", wanted.get("group").asText());
        explicit = wanted.get("explicit").asBoolean();
        settings.put("share.acknowledgement.mode", explicit ? "explicit" : "implicit");
        settings.put("share.acquire.mode", wanted.get("exact").asBoolean() ? "record_limit" : "batch_optimized");
        settings.put("allow.auto.create.topics", "false");
        settings.put("max.poll.records", wanted.get("max_records").asText());
        settings.put("fetch.max.wait.ms", "100");
        settings.put("reconnect.backoff.max.ms", "500");
        wanted.get("settings").properties().forEach(one -> settings.put(one.getKey(), one.getValue().asText()));
        consumer = new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.setAcknowledgementCommitCallback((offsets, failure) -> answered(offsets, failure));
        List<String> topics = new ArrayList<>();
        wanted.get("topics").forEach(topic -> topics.add(topic.asText()));
        consumer.subscribe(topics);
    }

    private void answered(Map<TopicIdPartition, ? extends Iterable<Long>> offsets, Exception failure) {
        List<List<Object>> settled = new ArrayList<>();
        offsets.forEach((place, each) ->
            each.forEach(offset -> settled.add(List.of(place.topic(), place.partition(), offset))));
        note(failure == null ? "settled" : "unsettled", settled);
        if (failure != null) {
            failed(failure);
        }
    }

    /** The records of the first poll that has any. */
    Object take(JsonNode arguments) {
        long deadline = System.currentTimeMillis() + arguments.get("patience_ms").asLong();
        List<Object> taken = new ArrayList<>();
        do {
            for (var record : consumer.poll(Duration.ofMillis(Math.max(1, Math.min(200, deadline - System.currentTimeMillis()))))) {
                held.put(List.of(record.topic(), record.partition(), record.offset()), record);
                taken.add(described(record));
            }
        } while (taken.isEmpty() && System.currentTimeMillis() < deadline);
        return taken;
    }

    private static List<Object> described(ConsumerRecord<byte[], byte[]> record) {
        List<Object> headers = new ArrayList<>();
        record.headers().forEach(one -> headers.add(Arrays.asList(one.key(), text(one.value()))));
        return Arrays.asList(record.topic(), record.partition(), record.offset(), record.deliveryCount().orElse((short) 0),
            text(record.key()), text(record.value()), headers);
    }

    private static String text(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }

    Object settle(JsonNode arguments) {
        var kind = AcknowledgeType.valueOf(arguments.get("kind").asText().toUpperCase(Locale.ROOT));
        for (JsonNode one : arguments.get("places")) {
            consumer.acknowledge(held.get(List.of(one.get(0).asText(), one.get(1).asInt(), one.get(2).asLong())), kind);
        }
        return null;
    }

    Object flush() {
        List<Object> answers = new ArrayList<>();
        consumer.commitSync(Duration.ofSeconds(30)).forEach((place, failure) -> answers.add(List.of(
            place.topic(), place.partition(), failure.map(one -> (int) Errors.forException(one).code()).orElse(0))));
        return answers;
    }

    Object work() {
        working = new Thread(() -> {
            while (!stopping) {
                workOnce();
            }
        }, "share member");
        working.setDaemon(true);
        working.start();
        return null;
    }

    private void workOnce() {
        try {
            List<Object> taken = new ArrayList<>();
            for (var record : consumer.poll(Duration.ofMillis(100))) {
                taken.add(List.of(record.topic(), record.partition(), record.offset(), record.deliveryCount().orElse((short) 0)));
                if (explicit) {
                    consumer.acknowledge(record);
                }
            }
            if (!taken.isEmpty()) {
                note("taken", taken);
                if (explicit) {
                    consumer.commitAsync();
                }
            }
        } catch (KafkaException failure) {
            failed(failure);
        }
    }

    private void failed(Exception failure) {
        note("failed", List.of((int) Errors.forException(failure).code(), String.valueOf(failure)));
    }

    private void note(String kind, Object what) {
        notes.add(List.of(System.currentTimeMillis(), kind, what));
    }

    List<Object> takeNotes() {
        List<Object> taken = new ArrayList<>();
        for (var note = notes.poll(); note != null; note = notes.poll()) {
            taken.add(note);
        }
        return taken;
    }

    List<Object> leave() throws InterruptedException {
        stopping = true;
        if (working != null) {
            working.join();
        }
        consumer.close(Duration.ofSeconds(10));
        return takeNotes();
    }
}
