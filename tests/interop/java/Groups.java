import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Groups: members by name, and what the admin client can do with groups and their offsets. */
final class Groups implements AutoCloseable {
    // The getter of a group's state has another name in each of the releases that this runs with.
    private static final Pattern STATE = Pattern.compile("[sS]tate=(?:Optional\\[)?(\\w+)");

    private final Map<String, GroupMember> members = new HashMap<>();
    private final Admin admin;

    Groups(String bootstrap) {
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    @Override
    public void close() {
        admin.close();
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("join_group", this::join);
        commands.put("take_notes", arguments -> member(arguments).takeNotes());
        commands.put("commit", arguments -> member(arguments).commit(arguments));
        commands.put("committed", arguments -> member(arguments).committed(arguments));
        commands.put("leave_group", this::leave);
        commands.put("list_groups", this::list);
        commands.put("describe_group", this::describe);
        commands.put("delete_group", arguments -> admin.deleteConsumerGroups(List.of(group(arguments))).all().get());
        commands.put("group_offsets", this::offsets);
        commands.put("alter_group_offsets", this::alterOffsets);
        commands.put("delete_group_offsets", arguments ->
            admin.deleteConsumerGroupOffsets(group(arguments), places(arguments.get("places"))).all().get());
    }

    private GroupMember member(JsonNode arguments) {
        return members.get(arguments.get("member").asText());
    }

    private Object join(JsonNode arguments) {
        members.put(arguments.get("member").asText(), new GroupMember(arguments));
        return null;
    }

    private Object leave(JsonNode arguments) throws Exception {
        GroupMember member = members.remove(arguments.get("member").asText());
        member.close();
        return member.takeNotes();
    }

    @SuppressWarnings({"deprecation", "removal"})
    private Object list(JsonNode arguments) throws Exception {
        List<Object> listed = new ArrayList<>();
        for (var group : admin.listConsumerGroups().all().get()) {
            listed.add(List.of(group.groupId(), state(group)));
        }
        return listed;
    }

    private Object describe(JsonNode arguments) throws Exception {
        var found = admin.describeConsumerGroups(List.of(group(arguments))).all().get().get(group(arguments));
        List<Object> described = new ArrayList<>();
        for (var member : found.members()) {
            List<Object> partitions = new ArrayList<>();
            member.assignment().topicPartitions().forEach(one -> partitions.add(List.of(one.topic(), one.partition())));
            described.add(Arrays.asList(
                member.clientId(), member.host(), member.groupInstanceId().orElse(null), partitions));
        }
        return Map.of("state", state(found), "assignor", found.partitionAssignor(), "members", described);
    }

    private Object offsets(JsonNode arguments) throws Exception {
        List<Object> found = new ArrayList<>();
        admin.listConsumerGroupOffsets(group(arguments)).partitionsToOffsetAndMetadata().get().forEach(
            (place, offset) -> found.add(List.of(place.topic(), place.partition(), offset.offset(), offset.metadata())));
        return found;
    }

    private Object alterOffsets(JsonNode arguments) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (JsonNode one : arguments.get("places")) {
            offsets.put(place(one), new OffsetAndMetadata(one.get(2).asLong(), one.get(3).asText()));
        }
        return admin.alterConsumerGroupOffsets(group(arguments), offsets).all().get();
    }

    private static Set<TopicPartition> places(JsonNode named) {
        Set<TopicPartition> places = new HashSet<>();
        named.forEach(one -> places.add(place(one)));
        return places;
    }

    private static TopicPartition place(JsonNode one) {
        return new TopicPartition(one.get(0).asText(), one.get(1).asInt());
    }

    private static String state(Object described) {
        var match = STATE.matcher(described.toString());
        return match.find() ? match.group(1) : "unknown";
    }

    private static String group(JsonNode arguments) {
        return arguments.get("group").asText();
    }
}
