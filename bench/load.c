/* SPDX-License-Identifier: Apache-2.0
 * load.c - clients that each send a request, wait for its reply and send the next: one thread, kept
 * connections, bodies in turn from a file with one a line.
 *
 *   load PORT[,PORT...] PATH BODIES CLIENTS SECONDS WARM_UP_REQUESTS [FILE]
 *
 * Clients are dealt out to the ports in turn; the warm-up is the first one's. Prints one line of JSON:
 * requests, errors (status other than 200), seconds, latencies in ms, and cpu, the part of the time
 * that these clients computed: near 1 it is they who were measured. FILE gets the seconds of every
 * request as doubles. Requests under way when the time is over are finished and counted. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CLIENTS = 4096, REPLY_ROOM = 1 << 20 };

typedef struct Text {
    char *p;
    size_t n;
} Text;
typedef struct Client {
    int fd;
    Text out;                /* what is left to send; not owned */
    char *in;                /* [REPLY_ROOM]: a reply's head, and what came with it */
    size_t n, left;          /* bytes of the head so far; of the body still to come */
    int waiting, in_body;
    double began;
} Client;

static Text *requests;
static size_t n_requests, next_request;
static double *seconds;      /* of each reply */
static size_t n_seconds, room_seconds, errors;

static void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "unexpected");
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_bodies(const char *file, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(file, "r");
    if (!f) die(file);
    for (ssize_t n; (n = getline(&line, &room, f)) > 0;) {
        if (line[n - 1] == '\n') line[--n] = 0;
        requests = realloc(requests, (n_requests + 1) * sizeof *requests);
        Text *r = &requests[n_requests++];
        int size = asprintf(&r->p, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                            "application/json\r\nContent-Length: %zd\r\n\r\n%s", path, n, line);
        if (size < 0) die("memory");
        r->n = (size_t)size;
    }
    free(line);
    fclose(f);
    if (!n_requests) die("no bodies");
}

static void dial(Client *c, int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (void *)&to, sizeof to) != 0) die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->in = malloc(REPLY_ROOM + 1);
}

static void dial_all(Client *client, int n, const char *ports)
{
    const char *port = ports;
    for (int i = 0; i < n; i++) {
        dial(&client[i], atoi(port));
        port = strchr(port, ',') ? strchr(port, ',') + 1 : ports;
    }
}

static void send_more(Client *c)
{
    ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN) die("send");
    if (n < 0) return;
    c->out.p += n;
    c->out.n -= (size_t)n;
}

static void begin(Client *c)
{
    c->out = requests[next_request];
    next_request = (next_request + 1) % n_requests;
    c->n = c->left = 0;
    c->in_body = 0;
    c->waiting = 1;
    c->began = now();
    send_more(c);
}

static void read_head(Client *c)
{
    c->in[c->n] = 0;
    char *end = strstr(c->in, "\r\n\r\n");
    if (!end) return;
    *end = 0;
    char *length = strcasestr(c->in, "\ncontent-length:");
    errno = 0;
    if (!length) die("a reply without Content-Length");
    c->in_body = 1;
    c->left = strtoul(length + strlen("\ncontent-length:"), NULL, 10);
    size_t came = c->n - (size_t)(end + 4 - c->in);
    c->left -= came < c->left ? came : c->left;
    if (strncmp(c->in + strlen("HTTP/1.1 "), "200", 3) == 0) return;
    if (errors++ < 3) fprintf(stderr, "load: %.200s\n", c->in);
}

/* True: the reply is complete. */
static int receive(Client *c)
{
    size_t at = c->in_body ? 0 : c->n;
    ssize_t n = recv(c->fd, c->in + at, REPLY_ROOM - at, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n <= 0) die("the server closed a connection");
    if (c->in_body) {
        c->left -= (size_t)n;
    } else {
        c->n += (size_t)n;
        read_head(c);
    }
    return c->in_body && c->left == 0;
}

static void note(double took)
{
    if (n_seconds == room_seconds) {
        room_seconds = room_seconds ? room_seconds * 2 : 4096;
        seconds = realloc(seconds, room_seconds * sizeof *seconds);
    }
    seconds[n_seconds++] = took;
}

/* Until so many replies, or until then. Returns when the last one came. */
static double run(Client *client, int n, size_t replies, double until)
{
    static struct pollfd look[MOST_CLIENTS];
    double last = now();
    size_t begun = 0, done = 0;
    for (int i = 0; i < n && begun < replies; i++, begun++) begin(&client[i]);
    while (done < begun) {
        for (int i = 0; i < n; i++)
            look[i] = (struct pollfd){ client[i].waiting ? client[i].fd : -1,
                                       (short)(POLLIN | (client[i].out.n ? POLLOUT : 0)), 0 };
        if (poll(look, (nfds_t)n, 120000) <= 0) die("no reply");
        for (int i = 0; i < n; i++) {
            Client *c = &client[i];
            if (look[i].revents & POLLOUT && c->out.n) send_more(c);
            if (!(look[i].revents & (POLLIN | POLLHUP | POLLERR)) || !receive(c)) continue;
            last = now();
            note(last - c->began);
            c->waiting = 0;
            done++;
            if (begun < replies && last < until) begin(c), begun++;
        }
    }
    return last;
}

static int by_size(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

/* The nearest rank, in ms. */
static double percentile(double p)
{
    size_t rank = (size_t)(p * (double)n_seconds + 0.999999);
    return seconds[rank ? rank - 1 : 0] * 1e3;
}

static double cpu_seconds(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static void write_seconds(const char *file)
{
    FILE *f = fopen(file, "w");
    if (!f || fwrite(seconds, sizeof *seconds, n_seconds, f) != n_seconds || fclose(f) != 0) die(file);
}

int main(int argc, char **argv)
{
    static Client client[MOST_CLIENTS];
    if (argc < 7 || argc > 8 || atoi(argv[4]) < 1 || atoi(argv[4]) > MOST_CLIENTS)
        return fprintf(stderr, "usage: load PORT[,PORT...] PATH BODIES CLIENTS SECONDS WARM_UP [FILE]\n"), 2;
    int clients = atoi(argv[4]);
    read_bodies(argv[3], argv[2]);
    dial_all(client, clients, argv[1]);
    size_t warm = strtoul(argv[6], NULL, 10);
    if (warm) run(client, 1, warm, now() + 60);
    n_seconds = errors = 0;
    double used = cpu_seconds();
    double start = now(), end = run(client, clients, (size_t)-1, start + atof(argv[5])), sum = 0;
    used = (cpu_seconds() - used) / (end - start);
    qsort(seconds, n_seconds, sizeof *seconds, by_size);
    for (size_t i = 0; i < n_seconds; i++) sum += seconds[i];
    printf("{\"requests\": %zu, \"errors\": %zu, \"seconds\": %.3f, \"rps\": %.2f, \"mean_ms\": %.3f, "
           "\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f, \"cpu\": %.2f}\n", n_seconds, errors, end - start,
           (double)n_seconds / (end - start), sum / (double)n_seconds * 1e3, percentile(0.5),
           percentile(0.99), percentile(1), used);
    if (argc == 8) write_seconds(argv[7]);
    return errors != 0;
}
