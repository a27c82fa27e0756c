/* SPDX-License-Identifier: Apache-2.0
 * dns.c - messages of RFC 1035 (and 3596 for IPv6), and resolv.conf. Every offset of an answer is
 * checked against its length; compressed names may only point backwards. */
#include "net/dns.h"

#include <ctype.h>
#include <strings.h>

enum { HEADER = 12, LABEL_MOST = 63, NAME_MOST = 253, CLASS_IN = 1, CHAIN_MOST = 16 };

/* ---- resolv.conf ---- */
static Str dns_word(Str *line)
{
    while (line->n && strchr(" \t\r", *line->p)) line->p++, line->n--;
    Str word = { line->p, 0 };
    while (word.n < line->n && !strchr(" \t\r", word.p[word.n])) word.n++;
    line->p += word.n, line->n -= word.n;
    return word;
}

static void add_server(DnsConfig *c, Str word)
{
    enum { PORT = 53 };
    char text[64];
    snprintf(text, sizeof text, "%.*s", STR_ARG(word));
    if (c->n_server < DNS_SERVERS && address_parse(text, PORT, &c->server[c->n_server]))
        c->n_server++;
}

static void add_search(DnsConfig *c, Str word)
{
    if (c->n_search == DNS_SEARCH || word.n == 0 || word.n >= DNS_NAME) return;
    if (str_is(word, ".")) return;
    snprintf(c->search[c->n_search++], DNS_NAME, "%.*s", STR_ARG(word));
}

static void set_dns_option(DnsConfig *c, Str word)
{
    struct {
        const char *name;
        int *field;
        int64_t most;
    } rows[] = { { "ndots:", &c->dots, 15 },
                 { "timeout:", &c->timeout, 30 },
                 { "attempts:", &c->attempts, 5 } };
    int64_t number;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t n = strlen(rows[i].name);
        if (str_starts(word, rows[i].name) && str_int((Str){ word.p + n, word.n - n }, &number))
            *rows[i].field = (int)MIN(MAX(number, i > 0), rows[i].most);
    }
}

static void read_dns_line(DnsConfig *c, Str line)
{
    Str key = dns_word(&line), word;
    bool server = str_is(key, "nameserver"), options = str_is(key, "options");
    bool search = str_is(key, "search") || str_is(key, "domain");
    if (search) c->n_search = 0; /* the last of these lines counts */
    while ((word = dns_word(&line)).n) {
        if (server) add_server(c, word);
        if (options) set_dns_option(c, word);
        if (search) add_search(c, word);
        if (server) return;
    }
}

void dns_config_read(Str text, DnsConfig *c)
{
    *c = (DnsConfig){ .dots = 1, .timeout = 5, .attempts = 2 };
    for (size_t at = 0; at < text.n;) {
        Str line = { text.p + at, 0 };
        while (at + line.n < text.n && line.p[line.n] != '\n') line.n++;
        at += line.n + 1;
        read_dns_line(c, line);
    }
    if (c->n_server == 0) add_server(c, STR("127.0.0.1"));
}

/* ---- the question ---- */
static void put_u16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8), p[1] = (uint8_t)v;
}

/* Labels of 1 to 63 bytes, each behind its length, and an empty one at the end. */
static size_t write_name(const char *name, uint8_t *out)
{
    size_t n = strlen(name), at = 0;
    if (n && name[n - 1] == '.') n--;
    if (n == 0 || n > NAME_MOST) return 0;
    for (size_t i = 0; i <= n;) {
        size_t label = 0;
        while (i + label < n && name[i + label] != '.') label++;
        if (label == 0 || label > LABEL_MOST) return 0;
        out[at++] = (uint8_t)label;
        memcpy(out + at, name + i, label);
        at += label;
        i += label + 1;
    }
    out[at++] = 0;
    return at;
}

size_t dns_write_question(const char *name, DnsType type, uint16_t id, uint8_t out[DNS_QUESTION])
{
    memset(out, 0, HEADER);
    size_t n = write_name(name, out + HEADER);
    if (n == 0) return 0;
    put_u16(out, id);
    out[2] = 1; /* recursion desired */
    put_u16(out + 4, 1);
    put_u16(out + HEADER + n, type);
    put_u16(out + HEADER + n + 2, CLASS_IN);
    return HEADER + n + 4;
}

/* ---- the answer ---- */
typedef struct DnsReader {
    const uint8_t *p;
    size_t n, at;
} DnsReader;

static bool read_u16(DnsReader *r, unsigned *out)
{
    if (r->n - r->at < 2) return false;
    *out = (unsigned)r->p[r->at] << 8 | r->p[r->at + 1];
    r->at += 2;
    return true;
}

/* One label into out, lower-case; *more false: it was the last. */
static bool read_label(DnsReader *r, char out[DNS_NAME], size_t *n, bool *more)
{
    size_t length = r->p[r->at++];
    *more = length > 0;
    if (length > r->n - r->at || *n + length + 1 >= DNS_NAME) return false;
    for (size_t i = 0; i < length; i++) out[(*n)++] = (char)tolower(r->p[r->at + i]);
    if (length) out[(*n)++] = '.';
    r->at += length;
    return true;
}

/* A name, lower-case, with a dot behind each label. A pointer leads to an earlier place, so that it
 * cannot run in a circle. */
static bool read_dns_name(DnsReader *r, char out[DNS_NAME])
{
    size_t n = 0, behind = 0, lowest = r->at;
    bool more = true;
    while (more) {
        if (r->at >= r->n) return false;
        if ((r->p[r->at] & 0xc0) == 0xc0) {
            unsigned to;
            if (!read_u16(r, &to)) return false;
            to &= 0x3fff;
            if (!behind) behind = r->at;
            if (to >= lowest) return false;
            r->at = lowest = to;
        } else if (r->p[r->at] & 0xc0 || !read_label(r, out, &n, &more)) {
            return false;
        }
    }
    out[n] = 0;
    if (behind) r->at = behind;
    return true;
}

typedef struct DnsRecord {
    char owner[DNS_NAME];
    unsigned type, class;
    DnsReader data; /* of the whole message, at the data */
    unsigned n;
} DnsRecord;

static bool read_record(DnsReader *r, DnsRecord *out)
{
    unsigned ttl;
    if (!read_dns_name(r, out->owner) || !read_u16(r, &out->type) || !read_u16(r, &out->class) ||
        !read_u16(r, &ttl) || !read_u16(r, &ttl) || !read_u16(r, &out->n))
        return false;
    out->data = *r;
    if (out->n > r->n - r->at) return false;
    r->at += out->n;
    return true;
}

/* Takes what the records say about `name`: an alias replaces it. Returns false if malformed. */
static bool take_records(DnsReader r, unsigned count, char name[DNS_NAME], DnsType type,
                         DnsAnswer *out, bool *alias)
{
    DnsRecord record;
    *alias = false;
    for (unsigned i = 0; i < count; i++) {
        if (!read_record(&r, &record)) return false;
        if (record.class != CLASS_IN || strcmp(record.owner, name) != 0) continue;
        if (record.type == DNS_CNAME) {
            if (!read_dns_name(&record.data, name)) return false;
            *alias = true;
        } else if (record.type == (unsigned)type && out->n < DNS_MOST &&
                   record.n == (type == DNS_A ? 4u : 16u)) {
            address_from_bytes(record.data.p + record.data.at, record.n, &out->address[out->n++]);
        }
    }
    return true;
}

static bool read_dns_question(DnsReader *r, const char *name, DnsType type, char owner[DNS_NAME])
{
    unsigned asked, class;
    size_t n = strlen(name);
    if (!read_dns_name(r, owner) || !read_u16(r, &asked) || !read_u16(r, &class)) return false;
    if (n && name[n - 1] == '.') n--;
    return asked == (unsigned)type && class == CLASS_IN && strlen(owner) == n + 1 &&
           strncasecmp(owner, name, n) == 0;
}

bool dns_read_answer(Str message, const char *name, DnsType type, uint16_t id, DnsAnswer *out)
{
    DnsReader r = { (const uint8_t *)message.p, message.n, 0 };
    unsigned got, flags, questions, answers, others;
    char owner[DNS_NAME];
    *out = (DnsAnswer){ 0 };
    if (!read_u16(&r, &got) || !read_u16(&r, &flags) || !read_u16(&r, &questions) ||
        !read_u16(&r, &answers) || !read_u16(&r, &others) || !read_u16(&r, &others))
        return false;
    if (got != id || !(flags & 0x8000) || questions != 1) return false;
    if (!read_dns_question(&r, name, type, owner)) return false;
    out->code = (int)(flags & 15);
    out->truncated = flags & 0x0200;
    if (out->truncated) return true; /* the rest comes over TCP */
    bool alias = true;               /* an alias may stand behind what it leads to: look again */
    for (int i = 0; i < CHAIN_MOST && alias && out->n == 0; i++)
        if (!take_records(r, answers, owner, type, out, &alias)) return false;
    return true;
}
