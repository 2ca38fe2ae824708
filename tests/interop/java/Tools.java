import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/** Kafka's command-line tools, run by their main method in this JVM: starting one per tool takes longer than the tests. */
final class Tools {
    private static final class Exited extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("tool", this::run);
    }

    private Object run(JsonNode arguments) throws Exception {
        List<String> options = new ArrayList<>();
        arguments.get("arguments").forEach(option -> options.add(option.asText()));
        var output = new ByteArrayOutputStream();
        var errors = new ByteArrayOutputStream();
        InputStream stdin = System.in;
        PrintStream stdout = System.out;
        PrintStream stderr = System.err;
        System.setIn(new ByteArrayInputStream(arguments.get("stdin").asText().getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
        // Some tools catch what stops them and exit a second time; the first status is the one a shell would see.
        Integer[] status = {null};
        Exit.setExitProcedure((code, message) -> {
            status[0] = status[0] == null ? Integer.valueOf(code) : status[0];
            throw new Exited();
        });
        try {
            Class.forName(arguments.get("class").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) options.toArray(new String[0]));
        } catch (InvocationTargetException failure) {
            if (!(failure.getCause() instanceof Exited)) {
                throw new IllegalStateException(failure.getCause());
            }
        } finally {
            Exit.resetExitProcedure();
            System.setIn(stdin);
            System.setOut(stdout);
            System.setErr(stderr);
        }
        return Map.of("status", status[0] == null ? 0 : status[0], "output", output.toString(StandardCharsets.UTF_8),
            "errors", errors.toString(StandardCharsets.UTF_8));
    }
}
