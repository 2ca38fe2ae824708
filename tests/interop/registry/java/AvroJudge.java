import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What Confluent's AvroSchema makes of schemas. A line of the input has fields with tabs between them, each in base64: a schema, a schema of
 * a writer or nothing, then the schemas that the first refers to. The answer is `error`, or the canonical, the normalized and the resolved
 * text, then each sentence on what hinders the first as the reader of the second, in base64 again.
 */
public final class AvroJudge {
    private AvroJudge() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] fields = line.split("\t", -1);
            answers.println(answer(fields));
        }
        answers.flush();
    }

    private static String answer(String[] fields) {
        List<String> found = new ArrayList<>();
        try {
            Map<String, String> references = new LinkedHashMap<>();
            for (int number = 2; number < fields.length; number++) {
                references.put(String.valueOf(number), text(fields[number]));
            }
            AvroSchema schema = new AvroSchema(text(fields[0]), List.of(), references, null, true);
            found.add(schema.canonicalString());
            found.add(schema.normalize().canonicalString());
            found.add(schema.formattedString("resolved"));
            if (!fields[1].isEmpty()) {
                found.addAll(schema.isBackwardCompatible(new AvroSchema(text(fields[1]))));
            }
        } catch (RuntimeException error) {
            return "error";
        }
        List<String> encoded = new ArrayList<>();
        for (String one : found) {
            encoded.add(Base64.getEncoder().encodeToString(one.getBytes(StandardCharsets.UTF_8)));
        }
        return String.join("\t", encoded);
    }

    private static String text(String field) {
        return new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8);
    }
}
