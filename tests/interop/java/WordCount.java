import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts words exactly once, with the rebalance protocol of KIP-1071: a repartition topic between two subtopologies,
 * and a changelog behind the counts. Prints each state it enters; ends when its input does.
 */
final class WordCount {
    private WordCount() {}

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        String application = arguments[1];
        String input = arguments[2];
        String output = arguments[3];
        Path state = Path.of(arguments[4]);
        String endpoint = arguments[5];
        KafkaStreams streams = new KafkaStreams(topology(input, output), settings(bootstrap, application, state, endpoint));
        streams.setStateListener((now, before) -> say(now.name()));
        streams.start();
        while (System.in.read() >= 0) {
            // until the other end is closed
        }
        streams.close(Duration.ofSeconds(20));
    }

    private static Topology topology(String input, String output) {
        var builder = new StreamsBuilder();
        builder.<String, String>stream(input)
            .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")))
            .toStream()
            .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private static Properties settings(String bootstrap, String application, Path state, String endpoint) {
        var settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        settings.put(StreamsConfig.APPLICATION_SERVER_CONFIG, endpoint);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        // A killed instance leaves a transaction behind: what it held back must be free soon.
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 3000);
        return settings;
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
