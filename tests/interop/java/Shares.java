import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/** Share groups: members by name, and what the admin client can do with the groups and their offsets. */
final class Shares {
    private final Map<String, ShareMember> members = new HashMap<>();
    private final String bootstrap;

    Shares(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    void register(Map<String, Agent.Command> commands) {
        commands.put("join_share", this::join);
        commands.put("take", arguments -> member(arguments).take(arguments));
        commands.put("settle", arguments -> member(arguments).settle(arguments));
        commands.put("flush", arguments -> member(arguments).flush());
        commands.put("work", arguments -> member(arguments).work());
        commands.put("take_share_notes", arguments -> member(arguments).takeNotes());
        commands.put("leave_share", arguments -> members.remove(arguments.get("member").asText()).leave());
        commands.put("list_typed_groups", this::list);
        commands.put("describe_share_group", this::describe);
        commands.put("share_offsets", this::offsets);
        commands.put("alter_share_offsets", this::alter);
        commands.put("delete_share_offsets", this::deleteOffsets);
        commands.put("delete_share_group", this::delete);
    }

    private ShareMember member(JsonNode arguments) {
        return members.get(arguments.get("member").asText());
    }

    private Object join(JsonNode arguments) {
        members.put(arguments.get("member").asText(), new ShareMember(arguments));
        return null;
    }

    private static String group(JsonNode arguments) {
        return arguments.get("group").asText();
    }

    private Object list(JsonNode arguments) throws Exception {
        Set<GroupType> types = new HashSet<>();
        arguments.get("types").forEach(type -> types.add(GroupType.parse(type.asText())));
        List<Object> listed = new ArrayList<>();
        try (Admin admin = admin()) {
            for (var group : admin.listGroups(new ListGroupsOptions().withTypes(types)).all().get()) {
                listed.add(List.of(group.groupId(), group.type().map(Object::toString).orElse(""), group.protocol(),
                    group.groupState().map(Object::toString).orElse("")));
            }
        }
        return listed;
    }

    private Object describe(JsonNode arguments) throws Exception {
        try (Admin admin = admin()) {
            var found = admin.describeShareGroups(List.of(group(arguments))).all().get().get(group(arguments));
            List<Object> members = new ArrayList<>();
            for (var member : found.members()) {
                List<Object> places = new ArrayList<>();
                member.assignment().topicPartitions().forEach(one -> places.add(List.of(one.topic(), one.partition())));
                members.add(List.of(member.clientId(), member.host(), places));
            }
            return Map.of("state", found.groupState().toString(), "members", members,
                "coordinator", found.coordinator().id());
        }
    }

    private Object offsets(JsonNode arguments) throws Exception {
        List<Object> answer = new ArrayList<>();
        try (Admin admin = admin()) {
            var wanted = Map.of(group(arguments), new ListShareGroupOffsetsSpec());
            admin.listShareGroupOffsets(wanted).partitionsToOffsetInfo(group(arguments)).get().forEach((place, found) ->
                answer.add(Arrays.asList(place.topic(), place.partition(), found == null ? null : found.startOffset(),
                    found == null ? null : found.lag().orElse(null))));
        }
        return answer;
    }

    private Object alter(JsonNode arguments) throws Exception {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (JsonNode one : arguments.get("places")) {
            offsets.put(new TopicPartition(one.get(0).asText(), one.get(1).asInt()), one.get(2).asLong());
        }
        try (Admin admin = admin()) {
            return admin.alterShareGroupOffsets(group(arguments), offsets).all().get();
        }
    }

    private Object deleteOffsets(JsonNode arguments) throws Exception {
        Set<String> topics = new HashSet<>();
        arguments.get("topics").forEach(topic -> topics.add(topic.asText()));
        try (Admin admin = admin()) {
            return admin.deleteShareGroupOffsets(group(arguments), topics).all().get();
        }
    }

    private Object delete(JsonNode arguments) throws Exception {
        try (Admin admin = admin()) {
            return admin.deleteShareGroups(List.of(group(arguments))).all().get();
        }
    }

    private Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }
}
