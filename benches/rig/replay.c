/* The same requests many times over several connections, in C so that the server is what is measured.
 *
 *   replay HOST PORT CONNECTIONS WINDOW COUNT ANSWER_BYTES [KINDS] < requests
 *
 * The standard input has KINDS requests of the same size (1 if not given). Each connection sends them in turn;
 * their first ones are spread over the kinds.
 * Each connection sends its share of COUNT and keeps up to WINDOW of them unanswered; answers are counted by
 * their size. Prints one line of JSON; "cpu" is the generator's own CPU time, "p50_ms" and "p99_ms" are from the
 * moment that a request was sent in full to its answer.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_MAX = 64 << 20, RUN_MIN = 1 << 20 };

struct flow {
    int fd, waits_to_send;
    long sent, received; /* bytes */
    long first;          /* where in the requests it begins */
    long stamped, timed; /* requests sent in full, and those whose answer is there */
    double *sent_at;     /* of the last `window` requests */
};

static char *run;                /* requests one after the other, so that a send never stops for want of bytes */
static long request_size, all_size, run_size, kinds = 1, window, share, answer_size;
static int poller;
static float *answered_ms;
static long answered;

static void fail(const char *what) {
    fprintf(stderr, "replay: %s: %s\n", what, errno ? strerror(errno) : "the server closed the connection");
    exit(1);
}

static double seconds(const struct timespec *t) { return t->tv_sec + t->tv_nsec / 1e9; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return seconds(&t);
}

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return seconds(&t);
}

static void read_request(void) {
    char *request = malloc(REQUEST_MAX);
    for (ssize_t got; (got = read(0, request + all_size, REQUEST_MAX - all_size)) > 0;) all_size += got;
    if (!all_size || all_size % kinds) fail("no requests of one size on the standard input");
    request_size = all_size / kinds;
    long repeats = RUN_MIN / all_size + 2;
    run_size = repeats * all_size;
    run = malloc(run_size);
    for (long i = 0; i < repeats; i++) memcpy(run + i * all_size, request, all_size);
    free(request);
}

static int dial(const char *host, int port) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (!inet_aton(host, &place.sin_addr) || connect(fd, (struct sockaddr *)&place, sizeof place)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void listen_for(struct flow *flow, int operation, int waits_to_send) {
    struct epoll_event event = {.events = EPOLLIN | (waits_to_send ? EPOLLOUT : 0), .data.ptr = flow};
    if (epoll_ctl(poller, operation, flow->fd, &event)) fail("epoll_ctl");
    flow->waits_to_send = waits_to_send;
}

static void stamp(struct flow *flow) {
    double at = now();
    for (; flow->stamped < flow->sent / request_size; flow->stamped++) flow->sent_at[flow->stamped % window] = at;
}

static void send_allowed(struct flow *flow) {
    long allowed = (flow->received / answer_size + window) * request_size;
    if (allowed > share * request_size) allowed = share * request_size;
    while (flow->sent < allowed) {
        long at = (flow->first + flow->sent) % all_size, length = allowed - flow->sent;
        ssize_t sent = send(flow->fd, run + at, length < run_size - at ? length : run_size - at, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) fail("send");
        if (sent < 0) break;
        flow->sent += sent;
    }
    stamp(flow);
    int full = flow->sent < allowed;
    if (full != flow->waits_to_send) listen_for(flow, EPOLL_CTL_MOD, full);
}

static void time_answers(struct flow *flow) {
    double at = now();
    for (; flow->timed < flow->received / answer_size; flow->timed++)
        answered_ms[answered++] = (at - flow->sent_at[flow->timed % window]) * 1000;
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void receive(struct flow *flow) {
    static char answers[1 << 16];
    ssize_t got = recv(flow->fd, answers, sizeof answers, 0);
    if (!got) errno = 0;
    if (!got || (got < 0 && errno != EAGAIN)) fail("receive");
    if (got > 0) flow->received += got;
    time_answers(flow);
}

int main(int n, char **a) {
    if (n != 7 && n != 8) return fprintf(stderr, "usage: %s HOST PORT CONNECTIONS WINDOW COUNT ANSWER_BYTES [KINDS]\n", a[0]), 2;
    int connections = atoi(a[3]), left = connections;
    window = atol(a[4]), share = atol(a[5]) / connections, answer_size = atol(a[6]);
    if (n == 8) kinds = atol(a[7]);
    read_request();
    poller = epoll_create1(0);
    struct flow *flows = calloc(connections, sizeof *flows);
    answered_ms = malloc((share * connections + 1) * sizeof *answered_ms);
    for (int i = 0; i < connections; i++) {
        flows[i].first = i * kinds / connections * request_size;
        flows[i].sent_at = malloc(window * sizeof(double));
        flows[i].fd = dial(a[1], atoi(a[2]));
        listen_for(&flows[i], EPOLL_CTL_ADD, 0);
    }
    double began = now(), used = cpu();
    for (int i = 0; i < connections; i++) send_allowed(&flows[i]);
    while (left) {
        struct epoll_event ready[256];
        int count = epoll_wait(poller, ready, 256, 60000);
        if (count <= 0 && errno != EINTR) fail("no answer for a minute");
        for (int i = 0; i < count; i++) {
            struct flow *flow = ready[i].data.ptr;
            if (ready[i].events & ~EPOLLOUT) receive(flow);
            if (flow->received >= share * answer_size) {
                close(flow->fd);
                left--;
            } else {
                send_allowed(flow);
            }
        }
    }
    double took = now() - began, spent = cpu() - used;
    qsort(answered_ms, answered, sizeof *answered_ms, ascending);
    printf("{\"seconds\": %.6f, \"cpu\": %.6f, \"requests\": %ld, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n", took, spent,
           share * connections, answered_ms[answered / 2], answered_ms[answered * 99 / 100]);
}
