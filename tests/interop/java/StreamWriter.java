import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer that writes numbers to one partition on its own, and notes what became of each. */
final class StreamWriter {
    private static final Map<String, StreamWriter> WRITERS = new HashMap<>();

    private final KafkaProducer<byte[], byte[]> producer;
    private final ConcurrentLinkedQueue<List<Object>> fates = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile boolean stopping;

    static void register(Map<String, Agent.Command> commands) {
        commands.put("start_writing", arguments -> {
            WRITERS.put(arguments.get("writer").asText(), new StreamWriter(arguments));
            return null;
        });
        commands.put("take_fates", arguments -> WRITERS.get(arguments.get("writer").asText()).take());
        commands.put("stop_writing", arguments -> WRITERS.remove(arguments.get("writer").asText()).stop());
    }

    private StreamWriter(JsonNode wanted) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", wanted.get("bootstrap").asText());
        settings.put("acks", "all");
        settings.put("enable.idempotence", "true");
        settings.put("linger.ms", "0");
        settings.put("reconnect.backoff.max.ms", "500");
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        thread = new Thread(() -> write(wanted), "writer");
        thread.setDaemon(true);
        thread.start();
    }

    private void write(JsonNode wanted) {
        String topic = wanted.get("topic").asText();
        int partition = wanted.get("partition").asInt();
        for (int n = 0; !stopping; n++) {
            int number = n;
            byte[] value = Integer.toString(n).getBytes(StandardCharsets.UTF_8);
            producer.send(new ProducerRecord<>(topic, partition, null, value), (written, failure) -> {
                if (failure == null) {
                    fates.add(List.of(number, written.offset(), ""));
                } else {
                    fates.add(List.of(number, -1, Errors.forException(failure) + " " + failure));
                }
            });
            try {
                Thread.sleep(wanted.get("every_ms").asLong());
            } catch (InterruptedException stopped) {
                return;
            }
        }
    }

    private List<Object> take() {
        List<Object> taken = new ArrayList<>();
        for (var fate = fates.poll(); fate != null; fate = fates.poll()) {
            taken.add(fate);
        }
        return taken;
    }

    private List<Object> stop() throws InterruptedException {
        stopping = true;
        thread.join();
        producer.close();
        return take();
    }
}
