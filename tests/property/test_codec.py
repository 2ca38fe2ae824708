"""Messages of every API and version, drawn from their schema: what is encoded comes back."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base.errors import ProtocolError
from tidelog.wire.apis import API
from tidelog.wire.codec import decode, encode, schema_of
from tidelog.wire.frame import read_request_header, write_request
from tidelog.wire.primitives import read_uvarint, uvarint

NUMBERS = {
    "i8": st.integers(-(2**7), 2**7 - 1),
    "i16": st.integers(-(2**15), 2**15 - 1),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u16": st.integers(0, 2**16 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "f64": st.floats(allow_nan=False),
}
SCALARS = NUMBERS | {
    "bool": st.booleans(),
    "str": st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    "bytes": st.binary(max_size=200),
    "rec": st.binary(max_size=1000).map(memoryview),
    "uuid": st.binary(min_size=16, max_size=16),
}

REQUESTS = [
    (spec.request_class(), v) for spec in API.values() for v in range(spec.min_version, spec.max_version + 1)
]
RESPONSES = [
    (spec.response_class(), v) for spec in API.values() for v in range(spec.min_version, spec.max_version + 1)
]


@st.composite
def messages(draw, kinds=REQUESTS + RESPONSES):
    cls, version = draw(st.sampled_from(kinds))
    schema, classes = schema_of(cls, version)

    def struct(cls, fields):
        return cls(**{field.name: value(field) for field in fields if field.versions.hold(version)})

    def single(field):
        return struct(classes[field.type], field.fields) if field.is_struct else draw(SCALARS[field.type])

    def value(field):
        if field.nullable_in(version) and draw(st.booleans()):
            return None
        if field.is_array:
            return [single(field) for _ in range(draw(st.integers(0, 2 if field.is_struct else 4)))]
        made = single(field)
        is_absent = field.is_struct and field.tag is not None and made == type(made)()
        return None if is_absent else made

    return struct(cls, schema.fields), version


@settings(max_examples=300)
@given(messages())
def test_messages_come_back(drawn):
    message, version = drawn
    wire = b"".join(encode(message, version))
    assert decode(type(message), version, wire) == message


@settings(max_examples=150)
@given(messages(), st.data())
def test_a_changed_message_is_refused_or_has_one_encoding(drawn, data):
    message, version = drawn
    wire = bytearray(b"".join(encode(message, version)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(wire)))
        wire[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    try:
        read = decode(type(message), version, wire)
    except ProtocolError:
        return
    again = b"".join(encode(read, version))
    assert encode(decode(type(message), version, again), version) == encode(read, version)


@settings(max_examples=150)
@given(messages(kinds=REQUESTS), st.integers(-(2**31), 2**31 - 1), st.none() | SCALARS["str"])
def test_requests_in_frames_come_back(drawn, correlation_id, client_id):
    message, version = drawn
    key = next(spec.key for spec in API.values() if spec.request_class() is type(message))
    frame = b"".join(write_request(key, version, correlation_id, client_id, message))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, body = read_request_header(memoryview(frame)[4:])
    assert header == (key, version, correlation_id, client_id)
    assert decode(type(message), version, memoryview(frame)[4:], body) == message


@settings(max_examples=200)
@given(st.binary(max_size=64))
def test_any_bytes_are_a_header_or_refused(frame):
    try:
        header, body = read_request_header(memoryview(frame))
    except ProtocolError:
        return
    assert 8 <= body <= len(frame)
    assert header.correlation_id == int.from_bytes(frame[4:8], "big", signed=True)


@given(st.integers(0, 2**32 - 1), st.binary(max_size=3))
def test_uvarints_come_back(value, tail):
    wire = uvarint(value)
    assert read_uvarint(wire + tail, 0) == (value, len(wire))
    assert len(wire) == max(1, -(-value.bit_length() // 7))
