/* A load generator on librdkafka, in C so that it is not the bottleneck.
 *
 *   load produce SERVERS TOPIC PARTITIONS SIZE COUNT [name=value ...]
 *   load consume SERVERS TOPIC PARTITIONS COUNT [name=value ...]
 *   load latency SERVERS TOPIC RATE SECONDS SIZE [name=value ...]
 *
 * Each prints one line of JSON. "cpu" is the generator's own CPU time, so that its share can be shown.
 * It links against the librdkafka that the Python client brings; the few declarations it needs stand here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_topic_partition_list_s rd_kafka_topic_partition_list_t;
typedef struct {
    int err;
    rd_kafka_topic_t *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *_private;
} rd_kafka_message_t;

enum { PRODUCER = 0, CONSUMER = 1, F_COPY = 0x2, UNASSIGNED = -1, QUEUE_FULL = -184, PARTITION_EOF = -191 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *, void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, void *);
int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_flush(rd_kafka_t *, int);
int rd_kafka_last_error(void);
const char *rd_kafka_err2str(int);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int);
void *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *, const char *, int32_t);
int rd_kafka_topic_partition_list_set_offset(rd_kafka_topic_partition_list_t *, const char *, int32_t, int64_t);
int rd_kafka_assign(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
void rd_kafka_message_destroy(rd_kafka_message_t *);

static long delivered, failed;
static int first_error;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "load: %s: %s\n", what, why);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static double cpu_seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client, (void)opaque;
    if (message->err) {
        failed++;
        if (!first_error) first_error = message->err;
    } else {
        delivered++;
    }
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error)) fail(name, error);
}

/* Settings of both sides are given together: `p:linger.ms=5` is the producer's, `c:` the consumer's. */
static rd_kafka_t *client(int kind, const char *servers, int count, char **settings) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", servers);
    if (kind == PRODUCER) {
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    } else {
        set(conf, "group.id", "load");
        set(conf, "enable.auto.commit", "false");
        set(conf, "auto.offset.reset", "error");
    }
    for (int i = 0; i < count; i++) {
        char *setting = strdup(settings[i]), *value = strchr(setting, '=');
        if (!value) fail(setting, "not of the form name=value");
        *value++ = 0;
        if (setting[1] == ':' && (setting[0] == 'c') != (kind == CONSUMER)) continue;
        set(conf, setting[1] == ':' ? setting + 2 : setting, value);
    }
    char error[512];
    rd_kafka_t *made = rd_kafka_new(kind, conf, error, sizeof error);
    if (!made) fail("client", error);
    return made;
}

/* Text with numbers in it: compresses about as well as events do. */
static char *sample(size_t size) {
    char *text = malloc(size + 128);
    size_t at = 0;
    unsigned seed = 7;
    while (at < size)
        at += sprintf(text + at, "{\"user\": %u, \"page\": \"/item/%u\", \"ms\": %u} ", rand_r(&seed) % 100000,
                      rand_r(&seed) % 5000, rand_r(&seed) % 900);
    return text;
}

static void send_one(rd_kafka_t *producer, rd_kafka_topic_t *topic, int32_t partition, char *value, size_t size) {
    while (rd_kafka_produce(topic, partition, F_COPY, value, size, NULL, 0, NULL)) {
        if (rd_kafka_last_error() != QUEUE_FULL) fail("produce", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(producer, 1);
    }
}

static void finish(rd_kafka_t *producer) {
    if (rd_kafka_flush(producer, 120000)) fail("flush", "not everything was answered within two minutes");
    if (failed) fail("delivery", rd_kafka_err2str(first_error));
}

static void produce(int n, char **a) {
    rd_kafka_t *producer = client(PRODUCER, a[0], n - 5, a + 5);
    int partitions = atoi(a[2]);
    size_t size = atol(a[3]);
    long count = atol(a[4]);
    char *values = sample(size + 4096);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, a[1], NULL);
    for (int i = 0; i < partitions; i++) send_one(producer, topic, i, values, size); /* finds its way first */
    finish(producer);
    double cpu = cpu_seconds();
    int64_t began = now_ns();
    for (long i = 0; i < count; i++) {
        send_one(producer, topic, (i >> 6) % partitions, values + (i * 61 & 4095), size);
        if (!(i & 1023)) rd_kafka_poll(producer, 0);
    }
    finish(producer);
    double seconds = (now_ns() - began) / 1e9;
    printf("{\"messages\": %ld, \"seconds\": %.6f, \"cpu\": %.4f}\n", count, seconds, cpu_seconds() - cpu);
}

static rd_kafka_queue_t *reading(rd_kafka_t *consumer, const char *topic, int partitions) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; i++) {
        rd_kafka_topic_partition_list_add(list, topic, i);
        rd_kafka_topic_partition_list_set_offset(list, topic, i, 0);
    }
    if (rd_kafka_assign(consumer, list)) fail("assign", "refused");
    return rd_kafka_queue_get_consumer(consumer);
}

static void consume(int n, char **a) {
    rd_kafka_t *consumer = client(CONSUMER, a[0], n - 4, a + 4);
    rd_kafka_queue_t *queue = reading(consumer, a[1], atoi(a[2]));
    static rd_kafka_message_t *messages[10000];
    long count = atol(a[3]), got = 0, uncounted = 0;
    int64_t began = 0, heard = now_ns();
    double cpu = 0;
    while (got < count) {
        ssize_t some = rd_kafka_consume_batch_queue(queue, 10, messages, 10000);
        for (ssize_t i = 0; i < some; i++) {
            if (messages[i]->err && messages[i]->err != PARTITION_EOF)
                fail("consume", rd_kafka_err2str(messages[i]->err));
            if (!messages[i]->err) got++;
            rd_kafka_message_destroy(messages[i]);
        }
        if (some > 0) heard = now_ns();
        if (some > 0 && !began) began = now_ns(), cpu = cpu_seconds(), uncounted = got; /* the clock starts */
        if (now_ns() - heard > 60000000000LL) fail("consume", "nothing came for a minute");
    }
    double seconds = (now_ns() - began) / 1e9;
    printf("{\"messages\": %ld, \"seconds\": %.6f, \"cpu\": %.4f}\n", got - uncounted, seconds, cpu_seconds() - cpu);
}

struct reader {
    rd_kafka_queue_t *queue;
    long wanted, got;
    double *ms;
};

static void *read_times(void *opaque) {
    struct reader *r = opaque;
    rd_kafka_message_t *messages[1000];
    while (r->got < r->wanted) {
        ssize_t some = rd_kafka_consume_batch_queue(r->queue, 0, messages, 1);
        if (some <= 0) some = rd_kafka_consume_batch_queue(r->queue, 5, messages, 1);
        int64_t now = now_ns(), sent;
        for (ssize_t i = 0; i < some; i++) {
            if (!messages[i]->err && messages[i]->len >= 8) {
                memcpy(&sent, messages[i]->payload, 8);
                if (sent > 0 && r->got < r->wanted) r->ms[r->got++] = (now - sent) / 1e6;
            }
            rd_kafka_message_destroy(messages[i]);
        }
    }
    return NULL;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The clock of a message starts when it was due, not when it was sent: a stall counts for all it delayed. */
static void latency(int n, char **a) {
    double rate = atof(a[2]);
    long count = rate * atof(a[3]), warm = count / 5, size = atol(a[4]);
    rd_kafka_t *producer = client(PRODUCER, a[0], n - 5, a + 5);
    rd_kafka_t *consumer = client(CONSUMER, a[0], n - 5, a + 5);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, a[1], NULL);
    char *value = sample(size);
    int64_t none = 0;
    memcpy(value, &none, 8);
    send_one(producer, topic, 0, value, size);
    finish(producer);
    struct reader r = {reading(consumer, a[1], 1), warm + count, 0, malloc((warm + count) * sizeof(double))};
    pthread_t thread;
    pthread_create(&thread, NULL, read_times, &r);
    double cpu = cpu_seconds();
    int64_t began = now_ns(), late = 0;
    for (long i = 0; i < warm + count; i++) {
        int64_t due = began + (int64_t)(i * 1e9 / rate);
        for (int64_t left; (left = due - now_ns()) > 0;) {
            struct timespec pause = {0, left > 50000 ? left - 40000 : 1000};
            nanosleep(&pause, NULL);
        }
        if (now_ns() - due > late) late = now_ns() - due;
        memcpy(value, &due, 8);
        send_one(producer, topic, 0, value, size);
        if (!(i & 63)) rd_kafka_poll(producer, 0);
    }
    double seconds = (now_ns() - began) / 1e9;
    finish(producer);
    pthread_join(thread, NULL);
    double *ms = r.ms + warm;
    qsort(ms, count, sizeof *ms, ascending);
    printf("{\"messages\": %ld, \"seconds\": %.4f, \"cpu\": %.4f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, "
           "\"p999_ms\": %.4f, \"max_ms\": %.4f, \"sender_late_ms\": %.4f}\n",
           warm + count, seconds, cpu_seconds() - cpu, ms[count / 2], ms[count * 99 / 100], ms[count * 999 / 1000],
           ms[count - 1], late / 1e6);
}

int main(int n, char **a) {
    if (n >= 7 && !strcmp(a[1], "produce")) produce(n - 2, a + 2);
    else if (n >= 6 && !strcmp(a[1], "consume")) consume(n - 2, a + 2);
    else if (n >= 7 && !strcmp(a[1], "latency")) latency(n - 2, a + 2);
    else fail("usage", "see the head of load.c");
    return 0;
}
