from tidelog.groups.consumer.topics import TopicInfo, Topics

A, B = TopicInfo(b"a" * 16, 3), TopicInfo(b"b" * 16, 3)


def test_the_hash_tells_topics_apart_and_is_the_same_everywhere():
    topics = Topics({"a": A, "b": B})
    assert topics.hash_of(["a", "b"]) == Topics({"b": B, "a": A, "c": A}).hash_of(["b", "a", "gone"])
    assert topics.hash_of(["a"]) == 6991463436400463833
    others = [
        topics.hash_of([]),
        topics.hash_of(["b"]),
        Topics({"a": A._replace(partitions=4)}).hash_of(["a"]),
        Topics({"a": A._replace(topic_id=b"c" * 16)}).hash_of(["a"]),
    ]
    assert len({topics.hash_of(["a"]), *others}) == 5


def test_what_changed():
    before = Topics({"a": A, "b": B, "c": A})
    after = Topics({"a": A, "b": B._replace(partitions=4), "d": A})
    assert before.changed_names(after) == after.changed_names(before) == {"b", "c", "d"}
