/* A plain produce request from its frame to its answer, in C: the request that a broker gets most.

   The reference is Python: `FrontMatcher.answer`, `Partition.produce`, `admit`, `LogWriter.append` and what they call.
   This is the same walk, for a plain request and no other, in three steps:

     1. It looks. Whatever is not plain, it leaves to Python, which then does the whole of it, refusals included.
     2. It writes the batch. Where that fails it leaves the request to Python as well, which writes the same bytes at
        the same place, and sees the error by itself.
     3. It notes what was written, and answers.

   Nothing is changed before step 2, and nothing is refused after it. No state is kept here: all of it stays in the
   slots of the Python objects, and Python goes on from them as if it had written them itself.

   Slots are read and written at their places in an object, which `bind` asks their classes for. An object of another
   class, such as a file of the simulator or of an encrypted log dir, is not plain.

   tests/property/test_native_produce.py sends the same requests both ways, and compares answers, files and slots. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <structmember.h>
#include <unistd.h>

#ifdef Py_GIL_DISABLED
#error "two threads could change a slot at once: use the Python of the produce path with free threading"
#endif

/* The classes whose objects are looked into, and their slots. */
#define CLASSES(X)                                                                                                     \
    X(Front) X(Partition) X(PartitionLog) X(LogConfig) X(LogHealth) X(SpaceReserve) X(HighWatermark) X(AcksWaiters)    \
    X(FetchWatchers) X(LogSync) X(LogWriter) X(ProducerState) X(Producers) X(SegmentList) X(ActiveSegment)             \
    X(SegmentIndexes) X(OffsetIndex) X(TimeIndex) X(LeaderEpochs) X(PosixFile) X(TopicTraffic)

#define SLOTS(X)                                                                                                       \
    X(Front, version) X(Front, topic) X(Front, index) X(Front, all_replicas) X(Front, answer) X(Front, offsets_at)     \
    X(Partition, log) X(Partition, mark) X(Partition, watchers) X(Partition, traffic) X(Partition, sync)               \
    X(Partition, isr) X(Partition, is_leader) X(Partition, leader_epoch) X(Partition, min_insync_replicas)             \
    X(PartitionLog, config) X(PartitionLog, health) X(PartitionLog, writer) X(PartitionLog, producer_state)            \
    X(PartitionLog, segment_list) X(PartitionLog, leader_epochs) X(PartitionLog, end) X(PartitionLog, start)           \
    X(PartitionLog, synced_end)                                                                                        \
    X(LogConfig, batch_bytes_max) X(LogConfig, looks_inside) X(LogConfig, log_append_time)                             \
    X(LogConfig, timestamp_before_max_ms) X(LogConfig, timestamp_after_max_ms) X(LogConfig, flush_messages)            \
    X(LogHealth, offline) X(LogHealth, reserve) X(SpaceReserve, is_refusing)                                           \
    X(HighWatermark, offset) X(HighWatermark, limits) X(HighWatermark, acks) X(HighWatermark, replication)             \
    X(AcksWaiters, queue) X(FetchWatchers, consumers) X(FetchWatchers, followers) X(FetchWatchers, uncommitted)        \
    X(LogSync, durability) X(LogSync, waiters) X(LogWriter, has_rolled) X(LogWriter, _roll_limits)                     \
    X(ProducerState, producers) X(ProducerState, bytes_since_snapshot) X(Producers, ended) X(Producers, end)           \
    X(SegmentList, active)                                                                                             \
    X(ActiveSegment, size) X(ActiveSegment, base) X(ActiveSegment, created_ms) X(ActiveSegment, first_timestamp)       \
    X(ActiveSegment, _file) X(ActiveSegment, _indexes) X(ActiveSegment, _recent_offsets)                               \
    X(ActiveSegment, _recent_positions) X(ActiveSegment, _recent_next)                                                 \
    X(SegmentIndexes, offsets) X(SegmentIndexes, times) X(SegmentIndexes, newest_timestamp)                            \
    X(SegmentIndexes, newest_offset) X(SegmentIndexes, _since_entry) X(SegmentIndexes, _interval_bytes)                \
    X(OffsetIndex, relatives) X(TimeIndex, timestamps) X(LeaderEpochs, _epochs) X(PosixFile, _fd)                      \
    X(TopicTraffic, received_bytes) X(TopicTraffic, received_records)

#define CLASS(name) static PyTypeObject *class_##name;
#define PLACE(name, slot) static Py_ssize_t place_##name##_##slot;
CLASSES(CLASS)
SLOTS(PLACE)

#define SLOT(of, name, slot) (*(PyObject **)((char *)(of) + place_##name##_##slot))
#define IS_A(of, name) ((of) != NULL && Py_TYPE(of) == class_##name)

/* Names of what is called or looked up in Python. */
#define NAMES(X) X(append) X(appended) X(check) X(clock) X(find) X(note) X(now_ms) X(partitions) X(throttle)
#define NAME(name) static PyObject *name_##name;
NAMES(NAME)

/* Also from `bind`. */
static PyObject *reply_class, *header_class, *crc32c, *fsync_durability;
static int64_t recent_max;

/* Numbers. Those of a batch are big-endian and signed, but for its CRC. */

static int64_t read_big(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    int shift = 64 - 8 * bytes;
    return (int64_t)(value << shift) >> shift;
}

static void write_big(unsigned char *at, int64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; i--, value >>= 8) at[i] = (unsigned char)value;
}

/* Sets `*odd` where the object is no int, or one that is too large. */
static int64_t number_of(PyObject *value, int *odd) {
    if (value == NULL || !PyLong_CheckExact(value)) {
        *odd = 1;
        return -1;
    }
    int64_t number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) *odd = 1;
    return number;
}
#define NUMBER(of, name, slot) number_of(SLOT(of, name, slot), &odd)

static int set_number(PyObject **slot, int64_t number) {
    PyObject *made = PyLong_FromLongLong(number);
    if (made == NULL) return -1;
    Py_XSETREF(*slot, made);
    return 0;
}

static int add_number(PyObject **slot, int64_t more) {
    int odd = 0;
    int64_t before = number_of(*slot, &odd);
    return odd ? -1 : set_number(slot, before + more);
}

static int append_number(PyObject *array, int64_t number) {
    PyObject *made = PyLong_FromLongLong(number);
    PyObject *done = made == NULL ? NULL : PyObject_CallMethodOneArg(array, name_append, made);
    Py_XDECREF(made);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Sets `*odd` where the object has no size. Python is not asked again once something was odd. */
static int64_t size_of(PyObject *value, int *odd) {
    Py_ssize_t size = value == NULL || *odd ? -1 : PyObject_Size(value);
    if (size < 0) *odd = 1;
    return size;
}

static int is_empty(PyObject *value) {
    int odd = 0;
    int64_t size = size_of(value, &odd);
    if (odd) PyErr_Clear();
    return size == 0;
}

/* Whether a - b > most. A client chooses timestamps, so the difference may need more than 64 bits. */
static int is_more(int64_t a, int64_t b, int64_t most) {
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? a > b : difference > most;
}

/* Record batches, as wire/batch.py describes them. */

enum {
    LENGTH_AT = 8, LEADER_EPOCH_AT = 12, MAGIC_AT = 16, CRC_AT = 17, ATTRIBUTES_AT = 21, LAST_DELTA_AT = 23,
    BASE_TIMESTAMP_AT = 27, MAX_TIMESTAMP_AT = 35, PRODUCER_AT = 43, SEQUENCE_AT = 53, COUNT_AT = 57,
    HEADER_BYTES = 61, OVERHEAD = 12, CODEC_MASK = 7, CODEC_MAX = 4,
    RECORD_BYTES_MIN = 7, COMPRESSED_RECORDS_MAX = 250000
};
static const struct { int at, bytes; } HEADER_FIELDS[] = {
    {0, 8}, {8, 4}, {12, 4}, {16, 1}, {17, 4}, {21, 2}, {23, 4}, {27, 8}, {35, 8}, {43, 8}, {51, 2}, {53, 4}, {57, 4},
};
enum { HEADER_FIELD_COUNT = sizeof HEADER_FIELDS / sizeof *HEADER_FIELDS, CRC_FIELD = 4 };

/* One request under way. The objects are held, since calls of Python happen in between. */
enum { FRONT, PARTITION, LOG, CONFIG, MARK, WATCHERS, TRAFFIC, SYNC, WRITER, STATE, PRODUCERS, ACTIVE, INDEXES, DISK_FILE,
       HEADER, HELD };

/* Of frames and answers. */
enum { PRODUCE = 0, CORRELATION_ID_AT = 4, FRONT_AT = 8, TAIL_BYTES = 3, SHIFT_MAX = 28, OFFSETS_BYTES = 24 };

typedef struct {
    PyObject *held[HELD];
    unsigned char *records;
    int64_t size, count, max_timestamp, producer_id; /* of the batch */
    int64_t base, end, log_start, leader_epoch, now_ms; /* `end`: the offset after the batch */
    int64_t position; /* in the active segment */
    int64_t offsets_at; /* in the answer */
    int fd;
} Request;

#define OF(what) (request->held[what])

static int hold(Request *request, int what, PyObject *object) {
    OF(what) = Py_XNewRef(object);
    return object != NULL;
}

/* Step 1: everything is plain. Each function returns 1 for yes. */

static int finds_partition(Request *request, PyObject *services) {
    PyObject *throttle = PyObject_GetAttr(services, name_throttle);
    Py_XDECREF(throttle);
    if (throttle != Py_None) return 0;
    PyObject *partitions = PyObject_GetAttr(services, name_partitions);
    if (partitions == NULL) return 0;
    PyObject *topic = SLOT(OF(FRONT), Front, topic), *index = SLOT(OF(FRONT), Front, index);
    OF(PARTITION) = PyObject_CallMethodObjArgs(partitions, name_find, topic, index, NULL);
    Py_DECREF(partitions);
    return IS_A(OF(PARTITION), Partition);
}

static int reads_clock(Request *request, PyObject *services) {
    int odd = 0;
    PyObject *clock = PyObject_GetAttr(services, name_clock);
    PyObject *now = clock == NULL ? NULL : PyObject_CallMethodNoArgs(clock, name_now_ms);
    request->now_ms = number_of(now, &odd);
    Py_XDECREF(clock);
    Py_XDECREF(now);
    return !odd;
}

static int gathers(Request *request) {
    int odd = 0;
    PyObject *partition = OF(PARTITION), *log = SLOT(partition, Partition, log);
    if (!IS_A(log, PartitionLog)) return 0;
    hold(request, LOG, log);
    hold(request, CONFIG, SLOT(log, PartitionLog, config));
    hold(request, MARK, SLOT(partition, Partition, mark));
    hold(request, WATCHERS, SLOT(partition, Partition, watchers));
    hold(request, TRAFFIC, SLOT(partition, Partition, traffic));
    hold(request, SYNC, SLOT(partition, Partition, sync));
    hold(request, WRITER, SLOT(log, PartitionLog, writer));
    hold(request, STATE, SLOT(log, PartitionLog, producer_state));
    PyObject *segments = SLOT(log, PartitionLog, segment_list);
    if (!IS_A(OF(CONFIG), LogConfig) || !IS_A(OF(MARK), HighWatermark) || !IS_A(OF(WATCHERS), FetchWatchers) ||
        !IS_A(OF(TRAFFIC), TopicTraffic) || !IS_A(OF(SYNC), LogSync) || !IS_A(OF(WRITER), LogWriter) ||
        !IS_A(OF(STATE), ProducerState) || !IS_A(segments, SegmentList))
        return 0;
    hold(request, PRODUCERS, SLOT(OF(STATE), ProducerState, producers));
    hold(request, ACTIVE, SLOT(segments, SegmentList, active));
    if (!IS_A(OF(PRODUCERS), Producers) || !IS_A(OF(ACTIVE), ActiveSegment)) return 0;
    hold(request, INDEXES, SLOT(OF(ACTIVE), ActiveSegment, _indexes));
    request->base = NUMBER(log, PartitionLog, end);
    request->log_start = NUMBER(log, PartitionLog, start);
    request->leader_epoch = NUMBER(partition, Partition, leader_epoch);
    return !odd && IS_A(OF(INDEXES), SegmentIndexes);
}

/* Partition.produce: this replica leads, its disk works and has room, and enough replicas are in sync. */
static int accepts(Request *request) {
    int odd = 0;
    PyObject *health = SLOT(OF(LOG), PartitionLog, health), *isr = SLOT(OF(PARTITION), Partition, isr);
    if (SLOT(OF(PARTITION), Partition, is_leader) != Py_True || !IS_A(health, LogHealth)) return 0;
    PyObject *reserve = SLOT(health, LogHealth, reserve);
    if (SLOT(health, LogHealth, offline) != Py_None || !IS_A(reserve, SpaceReserve)) return 0;
    if (SLOT(reserve, SpaceReserve, is_refusing) != Py_False || isr == NULL || !PyTuple_Check(isr)) return 0;
    int64_t needed = NUMBER(OF(PARTITION), Partition, min_insync_replicas);
    return !odd && PyTuple_GET_SIZE(isr) >= needed;
}

/* check_batches and admit: one batch, whole and valid, with nothing that asks for a look at its records. */
static int admits(Request *request) {
    int odd = 0;
    const unsigned char *batch = request->records;
    PyObject *config = OF(CONFIG);
    if (request->size < HEADER_BYTES) return 0;
    int64_t length = read_big(batch + LENGTH_AT, 4), attributes = read_big(batch + ATTRIBUTES_AT, 2);
    int64_t base_timestamp = read_big(batch + BASE_TIMESTAMP_AT, 8), sequence = read_big(batch + SEQUENCE_AT, 4);
    int64_t count = request->count = read_big(batch + COUNT_AT, 4);
    request->max_timestamp = read_big(batch + MAX_TIMESTAMP_AT, 8);
    request->producer_id = read_big(batch + PRODUCER_AT, 8);
    int64_t codec = attributes & CODEC_MASK;
    if (read_big(batch, 8) != 0 || batch[MAGIC_AT] != 2 || OVERHEAD + length != request->size ||
        attributes & ~(int64_t)CODEC_MASK || codec > CODEC_MAX || count <= 0 ||
        read_big(batch + LAST_DELTA_AT, 4) != count - 1 || (sequence < 0 && request->producer_id >= 0) ||
        (codec == 0 && count * RECORD_BYTES_MIN > request->size - HEADER_BYTES) ||
        (codec != 0 && count > COMPRESSED_RECORDS_MAX))
        return 0;
    if (SLOT(config, LogConfig, looks_inside) != Py_False || SLOT(config, LogConfig, log_append_time) != Py_False)
        return 0;
    int64_t bytes_max = NUMBER(config, LogConfig, batch_bytes_max);
    int64_t before_max = NUMBER(config, LogConfig, timestamp_before_max_ms);
    int64_t after_max = NUMBER(config, LogConfig, timestamp_after_max_ms);
    if (odd || request->size > bytes_max) return 0;
    int64_t now_ms = request->now_ms, max_timestamp = request->max_timestamp;
    return !is_more(now_ms, base_timestamp, before_max) && !is_more(base_timestamp, now_ms, after_max) &&
           !is_more(now_ms, max_timestamp, before_max) && !is_more(max_timestamp, now_ms, after_max);
}

static int crc_is_right(Request *request, PyObject *frame, Py_ssize_t start, Py_ssize_t stop) {
    int odd = 0;
    PyObject *covered = PySequence_GetSlice(frame, start + ATTRIBUTES_AT, stop);
    PyObject *crc = covered == NULL ? NULL : PyObject_CallOneArg(crc32c, covered);
    int64_t found = number_of(crc, &odd);
    Py_XDECREF(covered);
    Py_XDECREF(crc);
    return !odd && found == (int64_t)(uint32_t)read_big(request->records + CRC_AT, 4);
}

/* ActiveSegment.must_roll says no, and no epoch begins with this batch. */
static int fits(Request *request) {
    int odd = 0;
    int64_t limits[4];
    PyObject *active = OF(ACTIVE), *given = SLOT(OF(WRITER), LogWriter, _roll_limits);
    PyObject *offsets = SLOT(OF(INDEXES), SegmentIndexes, offsets), *times = SLOT(OF(INDEXES), SegmentIndexes, times);
    PyObject *epochs = SLOT(OF(LOG), PartitionLog, leader_epochs);
    if (given == NULL || !PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 4 || !IS_A(offsets, OffsetIndex) ||
        !IS_A(times, TimeIndex) || !IS_A(epochs, LeaderEpochs))
        return 0;
    for (int i = 0; i < 4; i++) limits[i] = number_of(PyTuple_GET_ITEM(given, i), &odd);
    int64_t base = NUMBER(active, ActiveSegment, base), created_ms = NUMBER(active, ActiveSegment, created_ms);
    int64_t first = NUMBER(active, ActiveSegment, first_timestamp); /* None until it is asked for: not plain */
    request->position = NUMBER(active, ActiveSegment, size);
    if (odd || request->position == 0 || request->end - 1 - base > INT32_MAX ||
        request->position + request->size > limits[0])
        return 0;
    int64_t newest = first >= 0 ? request->max_timestamp : request->now_ms;
    if (is_more(newest, first >= 0 ? first : created_ms, limits[1])) return 0;
    int64_t entries = size_of(SLOT(offsets, OffsetIndex, relatives), &odd);
    int64_t time_entries = size_of(SLOT(times, TimeIndex, timestamps), &odd);
    if (odd || entries + 1 > limits[2] || time_entries + 1 > limits[3]) return 0;
    PyObject *known = SLOT(epochs, LeaderEpochs, _epochs);
    if (known == NULL || !PyList_Check(known) || PyList_GET_SIZE(known) == 0) return 0;
    int64_t latest = number_of(PyList_GET_ITEM(known, PyList_GET_SIZE(known) - 1), &odd);
    return !odd && latest == request->leader_epoch;
}

/* The newest batches are known without a gap, with room for one more, and the file is one of this disk. */
static int can_note(Request *request) {
    int odd = 0;
    PyObject *active = OF(ACTIVE), *file = SLOT(active, ActiveSegment, _file);
    if (!IS_A(file, PosixFile) || SLOT(active, ActiveSegment, _recent_positions) == NULL) return 0;
    int64_t known = size_of(SLOT(active, ActiveSegment, _recent_offsets), &odd);
    int64_t next = NUMBER(active, ActiveSegment, _recent_next);
    hold(request, DISK_FILE, file); /* or a thread that lets go of it closes the descriptor before the write */
    request->fd = (int)NUMBER(file, PosixFile, _fd);
    return !odd && next == request->base && known < recent_max && request->fd >= 0;
}

/* The batch of an idempotent producer is the next in its sequence, which Producers.check decides. */
static int is_next(Request *request) {
    if (request->producer_id < 0) return 1;
    PyObject *fields = PyTuple_New(HEADER_FIELD_COUNT);
    for (int i = 0; fields != NULL && i < HEADER_FIELD_COUNT; i++) {
        int64_t field = read_big(request->records + HEADER_FIELDS[i].at, HEADER_FIELDS[i].bytes);
        PyObject *made = PyLong_FromLongLong(i == CRC_FIELD ? (int64_t)(uint32_t)field : field);
        if (made == NULL) Py_CLEAR(fields);
        else PyTuple_SET_ITEM(fields, i, made);
    }
    PyObject *arguments = fields == NULL ? NULL : PyTuple_Pack(1, fields);
    Py_XDECREF(fields);
    if (arguments == NULL) return 0;
    OF(HEADER) = PyTuple_Type.tp_new((PyTypeObject *)header_class, arguments, NULL);
    Py_DECREF(arguments);
    if (OF(HEADER) == NULL) return 0;
    PyObject *duplicate = PyObject_CallMethodOneArg(OF(PRODUCERS), name_check, OF(HEADER));
    Py_XDECREF(duplicate);
    return duplicate == Py_None;
}

static int is_plain(Request *request, PyObject *services, PyObject *frame, Py_ssize_t start, Py_ssize_t stop) {
    if (!finds_partition(request, services) || !reads_clock(request, services) || !gathers(request)) return 0;
    if (!accepts(request) || !admits(request)) return 0;
    request->end = request->base + request->count;
    return fits(request) && can_note(request) && crc_is_right(request, frame, start, stop) && is_next(request);
}

/* Step 2: LogWriter.append numbers the batch and writes it. */

static int writes(Request *request) {
    ssize_t written;
    write_big(request->records, request->base, 8);
    write_big(request->records + LEADER_EPOCH_AT, request->leader_epoch, 4);
    Py_BEGIN_ALLOW_THREADS
    written = pwrite(request->fd, request->records, (size_t)request->size, request->position);
    Py_END_ALLOW_THREADS
    if (written == request->size) return 1;
    write_big(request->records, 0, 8); /* as the client sent it, or Python would refuse it */
    return 0;
}

/* Step 3: what ActiveSegment.note, ProducerState and LogWriter.append remember, and then Partition. -1: an exception. */

static int note_in_indexes(Request *request) {
    int odd = 0;
    PyObject *indexes = OF(INDEXES);
    int64_t since = NUMBER(indexes, SegmentIndexes, _since_entry), last = request->end - 1;
    int64_t interval = NUMBER(indexes, SegmentIndexes, _interval_bytes);
    int64_t newest = NUMBER(indexes, SegmentIndexes, newest_timestamp);
    if (odd) return -1;
    if (since > interval) {
        PyObject *done = PyObject_CallMethod(indexes, "note", "LLLL", last, request->position, request->size,
                                             request->max_timestamp);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    if (request->max_timestamp > newest &&
        (set_number(&SLOT(indexes, SegmentIndexes, newest_timestamp), request->max_timestamp) < 0 ||
         set_number(&SLOT(indexes, SegmentIndexes, newest_offset), last) < 0))
        return -1;
    return set_number(&SLOT(indexes, SegmentIndexes, _since_entry), since + request->size);
}

static int note_in_log(Request *request) {
    PyObject *active = OF(ACTIVE), *log = OF(LOG);
    if (add_number(&SLOT(OF(STATE), ProducerState, bytes_since_snapshot), request->size) < 0 ||
        set_number(&SLOT(active, ActiveSegment, _recent_next), request->end) < 0 ||
        append_number(SLOT(active, ActiveSegment, _recent_offsets), request->base) < 0 ||
        append_number(SLOT(active, ActiveSegment, _recent_positions), request->position) < 0 ||
        note_in_indexes(request) < 0 ||
        set_number(&SLOT(active, ActiveSegment, size), request->position + request->size) < 0)
        return -1;
    if (OF(HEADER) != NULL) {
        PyObject *base = PyLong_FromLongLong(request->base);
        PyObject *ended =
            base == NULL ? NULL : PyObject_CallMethodObjArgs(OF(PRODUCERS), name_note, OF(HEADER), base, NULL);
        Py_XDECREF(base);
        Py_XDECREF(ended);
        if (ended == NULL) return -1;
    }
    if (set_number(&SLOT(log, PartitionLog, end), request->end) < 0) return -1;
    return set_number(&SLOT(OF(PRODUCERS), Producers, end), request->end);
}

/* The high watermark follows at once: no follower, sync or waiter has a say in it, or hears of it. */
static int commits_alone(Request *request) {
    int odd = 0;
    PyObject *mark = OF(MARK), *watchers = OF(WATCHERS), *sync = OF(SYNC);
    PyObject *acks = SLOT(mark, HighWatermark, acks), *replication = SLOT(mark, HighWatermark, replication);
    if (SLOT(sync, LogSync, durability) == fsync_durability || !is_empty(SLOT(sync, LogSync, waiters)) ||
        !is_empty(SLOT(mark, HighWatermark, limits)) || !is_empty(SLOT(OF(PRODUCERS), Producers, ended)) ||
        !IS_A(acks, AcksWaiters) || !is_empty(SLOT(acks, AcksWaiters, queue)) || !IS_A(replication, AcksWaiters) ||
        !is_empty(SLOT(replication, AcksWaiters, queue)) || !is_empty(SLOT(watchers, FetchWatchers, consumers)) ||
        !is_empty(SLOT(watchers, FetchWatchers, followers)) || !is_empty(SLOT(watchers, FetchWatchers, uncommitted)) ||
        SLOT(OF(WRITER), LogWriter, has_rolled) != Py_False)
        return 0;
    int64_t offset = NUMBER(mark, HighWatermark, offset), synced_end = NUMBER(OF(LOG), PartitionLog, synced_end);
    int64_t flush_messages = NUMBER(OF(CONFIG), LogConfig, flush_messages);
    return !odd && offset < request->end && request->end - synced_end < flush_messages;
}

static int note_in_partition(Request *request) {
    if (add_number(&SLOT(OF(TRAFFIC), TopicTraffic, received_bytes), request->size) < 0 ||
        add_number(&SLOT(OF(TRAFFIC), TopicTraffic, received_records), request->count) < 0)
        return -1;
    if (commits_alone(request)) return set_number(&SLOT(OF(MARK), HighWatermark, offset), request->end);
    PyObject *size = PyLong_FromLongLong(request->size);
    PyObject *done = size == NULL ? NULL : PyObject_CallMethodOneArg(OF(PARTITION), name_appended, size);
    Py_XDECREF(size);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* A copy of the front's answer with its numbers in it. */
static PyObject *filled(Request *request, int64_t correlation_id) {
    PyObject *model = SLOT(OF(FRONT), Front, answer);
    PyObject *parts = PyList_New(1);
    PyObject *answer = PyByteArray_FromStringAndSize(PyBytes_AS_STRING(model), PyBytes_GET_SIZE(model));
    if (parts == NULL || answer == NULL) {
        Py_XDECREF(parts);
        Py_XDECREF(answer);
        return NULL;
    }
    unsigned char *bytes = (unsigned char *)PyByteArray_AS_STRING(answer), *offsets = bytes + request->offsets_at;
    write_big(bytes + CORRELATION_ID_AT, correlation_id, 4);
    write_big(offsets, request->base, 8);
    write_big(offsets + 8, -1, 8); /* records keep the time of their creation */
    write_big(offsets + 16, request->log_start, 8);
    PyList_SET_ITEM(parts, 0, answer);
    PyObject *reply = PyObject_CallOneArg(reply_class, parts);
    Py_DECREF(parts);
    return reply;
}

/* There is room in the answer for what is written into it. */
static int can_answer(Request *request) {
    int odd = 0;
    PyObject *model = SLOT(OF(FRONT), Front, answer);
    int64_t at = request->offsets_at = NUMBER(OF(FRONT), Front, offsets_at);
    return !odd && model != NULL && PyBytes_CheckExact(model) && at >= CORRELATION_ID_AT + 4 &&
           at <= PyBytes_GET_SIZE(model) - OFFSETS_BYTES;
}

/* A request is like the one before: its front is known, and nothing but records and empty tags is behind it. */
static int recognised(Request *request, PyObject *fronts, Py_buffer *frame, Py_ssize_t front_end, Py_ssize_t *start) {
    int odd = 0;
    unsigned char *bytes = frame->buf;
    Py_ssize_t size = frame->len, at = front_end;
    if (front_end < FRONT_AT || front_end > size - FRONT_AT || read_big(bytes, 2) != PRODUCE) return 0;
    PyObject *key = PyBytes_FromStringAndSize((char *)bytes + FRONT_AT, front_end - FRONT_AT);
    PyObject *front = key == NULL ? NULL : PyDict_GetItemWithError(fronts, key);
    hold(request, FRONT, front);
    Py_XDECREF(key);
    if (!IS_A(front, Front) || read_big(bytes + 2, 2) != NUMBER(front, Front, version) || odd || !can_answer(request))
        return 0;
    uint64_t length = 0; /* of the records, plus one */
    for (int shift = 0; shift <= SHIFT_MAX && at < size; shift += 7) {
        length |= (uint64_t)(bytes[at] & 0x7f) << shift;
        if (bytes[at++] & 0x80) continue;
        Py_ssize_t stop = at + (Py_ssize_t)length - 1;
        if (length == 0 || stop + TAIL_BYTES != size || bytes[stop] || bytes[stop + 1] || bytes[stop + 2]) return 0;
        request->records = bytes + at;
        request->size = stop - at;
        *start = at;
        return 1;
    }
    return 0;
}

static PyObject *produced(Request *request, int64_t correlation_id) {
    int odd = 0;
    if (note_in_log(request) < 0 || note_in_partition(request) < 0) return NULL;
    int all_replicas = SLOT(OF(FRONT), Front, all_replicas) == Py_True;
    if (!all_replicas || (NUMBER(OF(MARK), HighWatermark, offset) >= request->end && !odd))
        return filled(request, correlation_id);
    return Py_BuildValue("OOLLLL", OF(FRONT), OF(PARTITION), correlation_id, request->base, request->end,
                         request->log_start);
}

PyDoc_STRVAR(produce_doc,
    "produce(services, fronts, front_end, frame)\n\n"
    "Returns a Reply; None where the request is not plain, and nothing was done; or for acks=all, where other\n"
    "replicas or the disk are waited for: (front, partition, correlation id, base offset, end offset, log start).");

static PyObject *produce(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 4 || !PyDict_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "produce takes services, fronts, front_end and frame");
        return NULL;
    }
    PyObject *services = arguments[0], *frame = arguments[3], *result = NULL;
    Request request = {0};
    Py_buffer bytes;
    Py_ssize_t front_end = PyLong_AsSsize_t(arguments[2]), start = 0;
    if (front_end == -1 && PyErr_Occurred()) return NULL;
    if (PyObject_GetBuffer(frame, &bytes, PyBUF_WRITABLE) < 0) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    if (recognised(&request, arguments[1], &bytes, front_end, &start) &&
        is_plain(&request, services, frame, start, start + (Py_ssize_t)request.size) && writes(&request)) {
        result = produced(&request, read_big((unsigned char *)bytes.buf + CORRELATION_ID_AT, 4));
        if (result == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a slot of the log holds no number");
    } else if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear(); /* Python meets the same, and says what it means */
        result = Py_NewRef(Py_None);
    } /* but not a KeyboardInterrupt */
    PyBuffer_Release(&bytes);
    for (int i = 0; i < HELD; i++) Py_XDECREF(request.held[i]);
    return result;
}

static int find_class(PyObject *classes, const char *name, PyTypeObject **class) {
    PyObject *found = PyDict_GetItemString(classes, name);
    if (found == NULL || !PyType_Check(found)) {
        PyErr_Format(PyExc_TypeError, "the class %s is missing", name);
        return -1;
    }
    Py_XSETREF(*class, (PyTypeObject *)Py_NewRef(found));
    return 0;
}

static int find_place(PyTypeObject *class, const char *slot, Py_ssize_t *place) {
    PyObject *found = PyObject_GetAttrString((PyObject *)class, slot);
    int is_slot = found != NULL && Py_TYPE(found) == &PyMemberDescr_Type &&
                  ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX;
    if (is_slot) *place = ((PyMemberDescrObject *)found)->d_member->offset;
    else PyErr_Format(PyExc_TypeError, "%s has no slot %s", class->tp_name, slot);
    Py_XDECREF(found);
    return is_slot ? 0 : -1;
}

PyDoc_STRVAR(bind_doc,
    "bind(classes, reply, header, crc32c, fsync, recent_max)\n\n"
    "Looks up where the classes, given by their names, have their slots. Raises TypeError where one is missing.");

static PyObject *bind(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *classes, *reply, *header, *crc, *fsync;
    long long most;
    if (!PyArg_ParseTuple(arguments, "O!OOOOL", &PyDict_Type, &classes, &reply, &header, &crc, &fsync, &most)) return NULL;
#define FIND_CLASS(name) if (find_class(classes, #name, &class_##name) < 0) return NULL;
#define FIND_PLACE(name, slot) if (find_place(class_##name, #slot, &place_##name##_##slot) < 0) return NULL;
    CLASSES(FIND_CLASS)
    SLOTS(FIND_PLACE)
    Py_XSETREF(reply_class, Py_NewRef(reply));
    Py_XSETREF(header_class, Py_NewRef(header));
    Py_XSETREF(crc32c, Py_NewRef(crc));
    Py_XSETREF(fsync_durability, Py_NewRef(fsync));
    recent_max = most;
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"produce", (PyCFunction)(void (*)(void))produce, METH_FASTCALL, produce_doc},
    {"bind", bind, METH_VARARGS, bind_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_plain_produce", .m_size = -1, .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__plain_produce(void) {
    static const char built_for[] = Py_STRINGIFY(PY_MAJOR_VERSION) "." Py_STRINGIFY(PY_MINOR_VERSION) ".";
    if (strncmp(Py_GetVersion(), built_for, sizeof built_for - 1) != 0) {
        PyErr_Format(PyExc_ImportError, "it was compiled for Python %sx", built_for);
        return NULL;
    }
#define INTERN(name) if ((name_##name = PyUnicode_InternFromString(#name)) == NULL) return NULL;
    NAMES(INTERN)
    PyObject *module = PyModule_Create(&MODULE);
    if (module != NULL && PyModule_AddStringConstant(module, "SOURCE", SOURCE_HASH) < 0) Py_CLEAR(module);
    return module;
}
