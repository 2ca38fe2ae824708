import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group: a consumer on a thread of its own that polls, notes what happens, and works off requests. */
final class GroupMember implements ConsumerRebalanceListener {
    /** Before the name of an assignor: the new protocol, in which the broker assigns. */
    private static final String ON_THE_BROKER = "broker:";

    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "sticky", "org.apache.kafka.clients.consumer.StickyAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;
    private final ConcurrentLinkedQueue<List<Object>> notes = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<Runnable> asked = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile boolean stopping;

    GroupMember(JsonNode wanted) {
        Properties settings = new Properties();
        String group = wanted.get("group").asText();
        settings.put("bootstrap.servers", wanted.get("bootstrap").asText());
        settings.put("client.id", "java");
        settings.put("group.id", group);
        String assignor = wanted.get("assignor").asText();
        boolean assignedByBroker = assignor.startsWith(ON_THE_BROKER);
        if (assignedByBroker) {
            settings.put("group.protocol", "consumer");
            settings.put("group.remote.assignor", assignor.substring(ON_THE_BROKER.length()));
        } else {
            settings.put("partition.assignment.strategy", ASSIGNORS.get(assignor));
            settings.put("session.timeout.ms", wanted.get("session_timeout_ms").asText());
            settings.put("heartbeat.interval.ms", "200");
        }
        if (!wanted.get("instance_id").isNull()) {
            settings.put("group.instance.id", wanted.get("instance_id").asText());
        }
        settings.put("enable.auto.commit", wanted.get("auto_commit").asText());
        settings.put("auto.commit.interval.ms", "200");
        settings.put("auto.offset.reset", wanted.get("reset").asText());
        settings.put("fetch.max.wait.ms", "100");
        settings.put("reconnect.backoff.max.ms", "500");
        topic = wanted.get("topic").asText();
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        thread = new Thread(this::run, "member of " + group);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        consumer.subscribe(List.of(topic), this);
        while (!stopping) {
            poll();
            for (Runnable work = asked.poll(); work != null; work = asked.poll()) {
                work.run();
            }
        }
        consumer.close();
    }

    private void poll() {
        List<List<Object>> read = new ArrayList<>();
        try {
            for (var record : consumer.poll(Duration.ofMillis(50))) {
                read.add(List.of(record.partition(), record.offset()));
            }
        } catch (InvalidOffsetException failure) {
            failed(Errors.OFFSET_OUT_OF_RANGE.code(), failure);
        } catch (FencedInstanceIdException failure) {
            // As the documentation asks for: one that polls on takes its name back, and fences the other.
            stopping = true;
            failed(Errors.forException(failure).code(), failure);
        } catch (KafkaException failure) {
            failed(Errors.forException(failure).code(), failure);
        }
        if (!read.isEmpty()) {
            note("records", read);
        }
    }

    private void failed(int code, Exception failure) {
        note("failed", List.of(code, String.valueOf(failure)));
    }

    private void note(String kind, Object what) {
        notes.add(List.of(System.currentTimeMillis(), kind, what));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
        note("assigned", assigned.stream().map(TopicPartition::partition).toList());
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        note("revoked", revoked.stream().map(TopicPartition::partition).toList());
    }

    List<Object> takeNotes() {
        List<Object> taken = new ArrayList<>();
        for (var note = notes.poll(); note != null; note = notes.poll()) {
            taken.add(note);
        }
        return taken;
    }

    private <T> T ask(Callable<T> work) throws Exception {
        var answer = new CompletableFuture<T>();
        asked.add(() -> {
            try {
                answer.complete(work.call());
            } catch (Exception failure) {
                answer.completeExceptionally(failure);
            }
        });
        return answer.get(60, TimeUnit.SECONDS);
    }

    Object commit(JsonNode arguments) throws Exception {
        JsonNode named = arguments.get("offsets");
        boolean wait = arguments.get("wait").asBoolean();
        return ask(() -> {
            if (named.isNull()) {
                if (wait) {
                    consumer.commitSync();
                } else {
                    consumer.commitAsync();
                }
                return null;
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (var one : named.properties()) {
                offsets.put(new TopicPartition(topic, Integer.parseInt(one.getKey())),
                    new OffsetAndMetadata(one.getValue().get(0).asLong(), one.getValue().get(1).asText()));
            }
            if (wait) {
                consumer.commitSync(offsets);
            } else {
                consumer.commitAsync(offsets, null);
            }
            return null;
        });
    }

    Object committed(JsonNode arguments) throws Exception {
        Set<TopicPartition> places = new HashSet<>();
        arguments.get("partitions").forEach(index -> places.add(new TopicPartition(topic, index.asInt())));
        return ask(() -> {
            List<Object> found = new ArrayList<>();
            consumer.committed(places).forEach((place, offset) -> {
                if (offset != null) {
                    found.add(Arrays.asList(place.partition(), offset.offset(), offset.metadata()));
                }
            });
            return found;
        });
    }

    void close() throws InterruptedException {
        stopping = true;
        thread.join();
    }
}
