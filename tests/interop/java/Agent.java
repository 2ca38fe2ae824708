import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/** The Java client behind a line protocol: a JSON command in, a JSON answer out; tests/interop/agent.py describes it. */
public final class Agent {
    static final ObjectMapper JSON = new ObjectMapper();

    interface Command {
        Object run(JsonNode arguments) throws Exception;
    }

    static final class Unfinished extends Exception {
        private static final long serialVersionUID = 1L;
        final int got;

        Unfinished(String what, int got) {
            super(what);
            this.got = got;
        }
    }

    public static void main(String[] arguments) throws Exception {
        // Answers own stdout; anything a library prints there would break the protocol.
        PrintStream answers = System.out;
        System.setOut(System.err);
        Map<String, Command> commands = new HashMap<>();
        Messages messages = new Messages(arguments[0]);
        try (Topics topics = new Topics(arguments[0]);
                Groups groups = new Groups(arguments[0]);
                Cluster cluster = new Cluster(arguments[0])) {
            messages.register(commands);
            topics.register(commands);
            groups.register(commands);
            cluster.register(commands);
            new Tools().register(commands);
            StreamWriter.register(commands);
            new Transactions(arguments[0]).register(commands);
            new Shares(arguments[0]).register(commands);
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                answers.println(JSON.writeValueAsString(answer(commands, JSON.readTree(line))));
                answers.flush();
            }
        }
    }

    private static Map<String, Object> answer(Map<String, Command> commands, JsonNode arguments) {
        Map<String, Object> answer = new HashMap<>();
        try {
            answer.put("ok", commands.get(arguments.get("do").asText()).run(arguments));
        } catch (Unfinished unfinished) {
            answer.put("unfinished", unfinished.getMessage());
            answer.put("got", unfinished.got);
        } catch (Exception failure) {
            Throwable cause = failure;
            while ((cause instanceof ExecutionException || cause instanceof CompletionException)
                    && cause.getCause() != null) {
                cause = cause.getCause();
            }
            if (cause instanceof ApiException) {
                answer.put("refused", (int) Errors.forException(cause).code());
                answer.put("message", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            } else if (cause instanceof org.apache.kafka.clients.consumer.OffsetOutOfRangeException) {
                answer.put("refused", (int) Errors.OFFSET_OUT_OF_RANGE.code());
                answer.put("message", cause.getMessage());
            } else {
                answer.put("failed", cause.toString());
            }
        }
        return answer;
    }
}
