/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * police: who may connect how often, into which class's queue, and which requests are let through.
 *
 * Measured side, hot: runs for every packet that comes in. `kernel/` fills the maps; `reference/` says the same in plain Rust and
 * is what tests hold this against. What is decided, and in which order, is explained there; here stands how.
 *
 *   police    tcx ingress: SYN stage and head stage.
 *   heads     tcx ingress where `flood` has the SYNs: does not ask again what `flood` has asked.
 *   flood     native XDP: SYNs whose rule drops them.
 *   classify  sk_lookup: a connection goes to the listening socket of its class.
 *
 * All maps hold two tables, of which `control.slot` says the one in force: keys begin with the slot, or are 2 * id + slot.
 */
#include "bpf_min.h"

enum { RULES = 16384, CLASSES = 8, SOCKETS = 16 }; /* RULES, CLASSES: as rules/table.rs; most sockets of one class */
enum { ENFORCE, LOG, OFF };
enum { NEXT = -1, DROPPED = 2, ANSWERED = 3 };                     /* TCX_NEXT, TCX_DROP; ANSWERED: within this file only */
enum { PASS, POLICE, REFUSE };                                     /* actions */
enum { DROP, RESET, STATUS_503, STATUS_429 };                      /* how it is refused */
enum { NONE, RATE, RATE_PER, REFUSED, QUEUE, FRAGMENT, LOST_RACE, SYN_DATA, TO_CLASS, REASONS };
enum { PACKETS, HEADS, ODD, BODIES, WOULD, URGENT, LET_IN, UNREAD, REFUSALS = UNREAD + 4, EVENTS = 32 }; /* UNREAD + kind - 1, REFUSALS + reason - 1 */
enum { TLS = 1, HTTP2, UPGRADE, LENGTHLESS };                      /* kinds of what is passed unread */
enum { HAS_EXACT = 1, HAS_PREFIX = 2, HAS_CONTAINS = 4, HAS_TO = 8, BOUNDED = 16, ON_OVERLOAD = 32 };
enum { NO_CLASS = 0xff, NO_RULE = 0xffffffffU };
enum { STRANGERS = 0xfe, DESTINATIONS };                           /* tables of addresses of listeners, and of destinations' tables */
enum { PUBLIC_PORT = 1, CLASS_PORT };                              /* in `ports`: where clients connect; where the server listens for a class */

struct rate { u64 interval, tolerance; };                          /* ns */
struct rule {
    struct rate rate, per;
    u32 place, per_id;                                             /* of its bucket and counts; per_id: never used for other rates */
    u8 action, class, refuse, per_length;                          /* per_length 0: none */
};
struct side { u64 seed[2]; u32 flags, odd, unread; u8 lowest, pad[3]; }; /* of one table */
struct control {
    u64 clock;                                                     /* ns; 0: the kernel's */
    u32 slot, mode, sockets, stands;                               /* sockets: most of any class; stands: as `standing` */
    u32 bounds[CLASSES];                                           /* 0: none */
    struct side side[2];
    u32 next;                                                      /* of a connection that `stands` in a test */
    u32 strangers;                                                 /* whether other programs listen on a public port */
};
struct tally { u64 passed, refused; };
struct bucket { u64 tat, pad[7]; };                                /* a cache line, since CPUs share it */
/* slot: 2 more for IPv6; port: of STRANGERS, which are of both slots; address: IPv4 in front */
struct key { u32 bits; u8 slot, table; u16 port; u8 address[16]; };
struct own { u32 id, pad; u8 prefix[16]; };
struct exact { u64 hash[2]; };
struct flow { u8 source[16], destination[16]; u16 source_port, port; };
/* What comes in a connection from the sequence number `from` on. sure: the server has taken all before. leaned: before that something
 * was passed on the strength of it. */
struct within { u32 from, until; u8 after, carry, sure, leaned; };
struct row { u16 next[128]; u32 first, pad; };                     /* first: order << 16 | rule of what ends here */
enum { NONE_ENDS = 0xffffffffU };
enum { READ = 252, BEFORE = 16, KEY = 8 + 248 };
struct head {
    u64 hash[2];
    u32 path, path_length, body_end;                               /* body_end: from the segment's beginning */
    u8 plain, after, carry, unread;                                /* carry: of HEAD_LONG, as `carried`; unread: its kind, or 0 */
    u8 body, longer;                                               /* body: its method brings one; longer: its fields are not read yet */
};
struct text {                                                      /* a head, and room before and behind it */
    u8 before[BEFORE], byte[READ], behind[44];
    u32 length_at, length_end, unclear, body;                      /* what its fields say of a body */
    u32 at, end, resume, got;                                      /* the window of a long head, in the packet */
    u8 inside, upgrade;                                            /* inside: it begins within a line */
    volatile u32 spare;
    u64 address;
    struct head head;                                              /* here, as the stack is small */
    struct flow flow;
    struct within now;
    struct turn { u32 at, end, slot, state, found; } turn;
};
struct path_key { u32 bits; u8 data[KEY]; };
volatile struct control control SEC(".bss.control");
volatile u8 ports[2][65536] SEC(".bss.ports");
volatile u32 tracked SEC(".bss.tracked");                          /* whether `flows` was ever used */
#define MAP(name, kind, flags, entries, K, V) struct { \
    __uint(type, BPF_MAP_TYPE_##kind); __uint(max_entries, entries); __uint(map_flags, flags); \
    __type(key, K); __type(value, V); } name SEC(".maps")
MAP(rules, ARRAY, 0, 2 * RULES, u32, struct rule);
MAP(buckets, ARRAY, 0, 2 * RULES, u32, struct bucket);
MAP(counts, PERCPU_ARRAY, 0, 2 * RULES, u32, struct tally);
MAP(events, PERCPU_ARRAY, 0, EVENTS, u32, u64);
MAP(sources, LPM_TRIE, BPF_F_NO_PREALLOC, 264192, struct key, u32); /* and which table a destination has */
MAP(own_buckets, LRU_HASH, 0, 65536, struct own, u64);
MAP(exact, HASH, BPF_F_NO_PREALLOC, 2 * RULES, struct exact, u32);
MAP(prefixes, LPM_TRIE, BPF_F_NO_PREALLOC, 2 * RULES, struct path_key, u32);
MAP(automaton, ARRAY, 0, 2 * 4096, u32, struct row);               /* 2 * state + slot */
MAP(flows, LRU_HASH, 0, 65536, struct flow, struct within);
MAP(listeners, SOCKMAP, 0, CLASSES * SOCKETS, u32, u32);           /* class * SOCKETS + place */
MAP(texts, PERCPU_ARRAY, 0, 2, u32, struct text);                  /* a head, and what follows what is read of it */

struct segment {
    u32 tcp, pay, end, seq, ack;                                   /* offsets of head, payload and end; seq, ack in network order */
    u32 next;                                                      /* what the server's kernel waits for, in host order */
    u8 source[16], destination[16];                                /* IPv4: the first four bytes */
    u16 source_port, port, doff;                                   /* ports in network order */
    u8 v6, flags, cut;                                             /* cut: the first of a fragmented packet */
};
enum { OTHER, OURS, HEADLESS };                                    /* HEADLESS: the first fragment, without a whole TCP head */
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32 };

inline_ void note(u32 event)
{
    u64 *count = map_get(&events, &event);
    if (count) ++*count;
}

inline_ void tally(u32 counter, u32 reason)
{
    struct tally *count = map_get(&counts, &counter);
    if (count) ++*(reason ? &count->refused : &count->passed);
}

/* ---- buckets and queues ---- */
/* The generic cell rate algorithm: one word, the time at which the next arrival would be due. */
inline_ u32 take(u64 *tat, const struct rate *rate, u64 at)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u64 before = *(volatile u64 *)tat;
        u64 due = before > at ? before : at;
        if (due - at > rate->tolerance) return RATE;
        if (__sync_val_compare_and_swap(tat, before, due + rate->interval) == before) return NONE;
    }
    return LOST_RACE;
}

/* The bucket of the source's own prefix; the map forgets what was longest unused. */
inline_ u32 take_own(const struct rule *rule, const u8 *source, u64 at)
{
    struct own key = { .id = rule->per_id };
    u64 high, fresh = 0;
    u32 others = (64 - rule->per_length) & 63;
    __builtin_memcpy(&high, source, 8);
    high = __builtin_bswap64(high) >> others << others;
    __builtin_memcpy(key.prefix, &high, 8);
    u64 *tat = map_get(&own_buckets, &key);
    if (!tat) {
        map_put(&own_buckets, &key, &fresh, BPF_NOEXIST);
        tat = map_get(&own_buckets, &key);
        if (!tat) return LOST_RACE;
    }
    u32 reason = take(tat, &rule->per, at);
    return reason == RATE ? RATE_PER : reason;
}

struct sock { u32 sk_ack_backlog; } __attribute__((preserve_access_index));
struct queues { u32 class, place, waiting, last, any, full; };      /* any: the bound of each class counts, not the last one's alone */

static long queue_turn(u32 i, void *context)
{
    struct queues *q = context;
    u32 at = q->class * SOCKETS + q->place;
    void *socket = map_get(&listeners, &at);
    if (socket) {
        struct tcp_sock *tcp = skc_to_tcp(socket);
        if (tcp) q->waiting += ((struct sock *)tcp)->sk_ack_backlog;
        sk_release(socket);
    }
    if (++q->place < control.sockets) return 0;
    u32 bound = control.bounds[q->class & (CLASSES - 1)];
    if (bound && q->waiting >= bound && (q->any || q->class == q->last)) return q->full = 1;
    q->place = 0;
    q->class++;
    return 0;
}

/* Whether the queues of a class and of those above it are at its bound; with `any`, of any class up to it. */
inline_ bool is_full(u32 class, bool any)
{
    struct queues q = { .last = class, .any = any };
    if (any || control.bounds[class & (CLASSES - 1)]) bpf_loop((class + 1) * control.sockets, queue_turn, &q, 0);
    return q.full;
}

/* Why a rule and then the queue of its class refuse; NONE if neither does. `asked`: the rule let it through before. */
inline_ u32 judge(const struct rule *rule, const struct segment *g, const volatile struct side *side, u32 class, bool asked)
{
    u32 flags = side->flags;
    if (rule && !asked) {
        if (rule->action == REFUSE) return REFUSED;
        if (rule->action == POLICE && (!(flags & ON_OVERLOAD) || is_full(CLASSES - 1, true))) {
            u64 at = control.clock;
            if (!at) at = clock_ns();
            u32 reason = rule->per_length ? take_own(rule, g->source, at) : NONE;
            if (reason) return reason;
            u32 i = rule->place;
            struct bucket *bucket = map_get(&buckets, &i);
            reason = bucket ? take(&bucket->tat, &rule->rate, at) : NONE;
            if (reason) return reason;
        }
    }
    return (flags & BOUNDED) && class != NO_CLASS && is_full(class, false) ? QUEUE : NONE;
}

/* ---- what a packet is ---- */
inline_ long load(void *packet, bool xdp, u32 at, void *to, u32 bytes)
{
    return xdp ? xdp_load(packet, at, to, bytes) : skb_load(packet, at, to, bytes);
}

/* Fills in what a TCP head says, where it is to a port of ours. */
inline_ u32 tcp_head(struct segment *g, const struct tcphdr *tcp, u32 at)
{
    g->tcp = at;
    g->source_port = tcp->source;
    g->port = tcp->dest;
    g->seq = tcp->seq;
    g->ack = tcp->ack_seq;
    g->flags = ((const u8 *)tcp)[13];
    g->doff = (((const u8 *)tcp)[12] >> 4) * 4;
    g->pay = at + g->doff;
    return ports[control.slot & 1][be16(tcp->dest)] ? OURS : OTHER;
}

/* Any packet, wherever its bytes lie; `whole` is how long it is. IPv6: six heads before TCP's, more are taken for one without. */
inline_ u32 find(void *packet, bool xdp, u16 protocol, u32 whole, struct segment *g)
{
    u32 at = ETH_HLEN, later = 0;
    u8 next;
    if (protocol == be16(ETH_P_IP)) {
        struct iphdr ip;
        if (load(packet, xdp, at, &ip, sizeof ip)) return OTHER;
        next = ip.protocol;
        g->cut = !!(ip.frag_off & be16(0x2000));
        later = ip.frag_off & be16(0x1fff);
        u32 length = be16(ip.tot_len);
        g->end = length ? at + length : whole;                     /* 0: merged, and longer than the field holds */
        at += ip.ihl * 4;
        __builtin_memcpy(g->source, &ip.saddr, 4);
        __builtin_memcpy(g->destination, &ip.daddr, 4);
    } else if (protocol == be16(ETH_P_IPV6)) {
        struct ipv6hdr ip;
        if (load(packet, xdp, at, &ip, sizeof ip)) return OTHER;
        next = ip.nexthdr;
        u32 length = be16(ip.payload_len);
        at += sizeof ip;
        g->v6 = 1;
        g->end = length ? at + length : whole;
        __builtin_memcpy(g->source, &ip.saddr, 16);
        __builtin_memcpy(g->destination, &ip.daddr, 16);
        for (int i = 0; i < 7; i++) {
            u8 head[4];
            if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS && next != IPPROTO_FRAGMENT) break;
            if (i == 6) return HEADLESS;
            if (load(packet, xdp, at, head, 4)) return OTHER;
            if (next == IPPROTO_FRAGMENT) {
                u16 offset = head[2] << 8 | head[3];
                g->cut = offset & 1;
                later = offset & 0xfff8;
                at += 8;
            } else {
                /* What has segments left is, in the end, for the first address of its list. */
                if (next == IPPROTO_ROUTING && head[3] && load(packet, xdp, at + 8, g->destination, 16)) return OTHER;
                at += (head[1] + 1) * 8;
            }
            next = head[0];
            if (later) break;                                      /* what follows is of no head */
        }
    } else return OTHER;
    if (later || next != IPPROTO_TCP) return OTHER;
    if (g->end > whole) g->end = whole;
    struct tcphdr tcp = {};
    if (load(packet, xdp, at, &tcp, sizeof tcp) || at + sizeof tcp > g->end) {
        /* The ports are in every first fragment: one of fewer than eight bytes is put together by nobody. */
        if (!g->cut || load(packet, xdp, at, &tcp, 4)) return OTHER;
        g->port = tcp.dest;
        return ports[control.slot & 1][be16(tcp.dest)] ? HEADLESS : OTHER;
    }
    return tcp_head(g, &tcp, at);
}

/* The rule of a connection's source: the longest source, in the table of the longest destination that a rule names. */
inline_ u32 source_rule(const u8 *source, const u8 *destination, bool v6, u32 flags, u8 slot)
{
    struct key key = { .bits = v6 ? 160 : 64, .slot = slot | v6 << 1 };
    u32 *found;
    if (flags & HAS_TO) {
        key.table = DESTINATIONS;
        __builtin_memcpy(key.address, destination, 16);
        found = map_get(&sources, &key);
        key.table = found ? *found : 0;
    }
    __builtin_memcpy(key.address, source, 16);
    found = map_get(&sources, &key);
    return found ? *found : NO_RULE;
}

/* Whether another program's listener has a destination: as the kernel, by the most precise address that one listens on. */
inline_ bool is_strange(const u8 *destination, u16 port, bool v6)
{
    if (!control.strangers) return false;
    struct key key = { .bits = v6 ? 160 : 64, .slot = v6 << 1, .table = STRANGERS, .port = port };
    __builtin_memcpy(key.address, destination, 16);
    u32 *found = map_get(&sources, &key);
    return found && *found;
}

/* Whether the kernel hands a packet on to another host. What a firewall then turns to this one is not known here. */
static __attribute__((noinline)) int is_forwarded(void *packet, const struct segment *g, u32 interface)
{
    struct bpf_fib_lookup way = { .family = g->v6 ? 10 : 2, .l4_protocol = IPPROTO_TCP, .sport = g->source_port, .dport = g->port,
                                  .ifindex = interface };
    if (g->v6) __builtin_memcpy(way.ipv6_src, g->source, 32);      /* and ipv6_dst */
    else {
        __builtin_memcpy(&way.ipv4_src, g->source, 4);
        __builtin_memcpy(&way.ipv4_dst, g->destination, 4);
    }
    s64 to = fib_lookup(packet, &way, sizeof way, BPF_FIB_LOOKUP_SKIP_NEIGH);
    return !to || to > BPF_FIB_LKUP_RET_FWD_DISABLED;
}

inline_ struct rule *rule_of(u32 id, u32 slot)
{
    u32 index = 2 * id + slot;
    return id == NO_RULE ? 0 : map_get(&rules, &index);
}

/* ---- made-up replies ---- */
enum { REPLY = 96 };                                               /* a multiple of 4, for the checksum */
#define REPLY_503 "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length:    0\r\nConnection:    close\r\n\r\n"
#define REPLY_429 "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length:    0\r\nConnection:      close\r\n\r\n"
_Static_assert(sizeof REPLY_503 == REPLY + 1 && sizeof REPLY_429 == REPLY + 1, "what is behind a reply would be sent, too");
static const char replies[2][REPLY + 4] = { REPLY_503, REPLY_429 };

inline_ u16 folded(s64 sum)
{
    sum = (sum & 0xffffffff) + ((u64)sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}

struct stamped { struct tcphdr tcp; u32 stamps[3]; };              /* stamps: two NOPs, kind and length; TSval; TSecr */
struct heads { u8 mac[12]; struct stamped t; bool merged; };

/* Makes the packet a segment without options but time stamps: `back` to the client, or on to the server. `body`: 0, or which of
 * `replies` plus 1. Sums are written whole: what came in by a card is looked at, what came from this machine is not. Of several
 * segments that the driver has merged the card makes the sum as it goes out, from that of the addresses. */
inline_ long make(struct __sk_buff *s, const struct segment *g, struct heads *h, bool back, u8 flags, u32 body)
{
    u32 stamps = back && h->t.stamps[0] ? 12 : 0;
    u32 tcp_length = 20 + stamps, bytes = tcp_length + (body ? REPLY : 0);
    u32 ip_length = g->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
    if (skb_change_tail(s, ETH_HLEN + ip_length + bytes, 0)) return -1;
    h->t.tcp.source = back ? g->port : g->source_port;
    h->t.tcp.dest = back ? g->source_port : g->port;
    ((u8 *)&h->t.tcp)[12] = tcp_length << 2;
    ((u8 *)&h->t.tcp)[13] = flags;
    h->t.tcp.check = 0;
    s64 sum = be16(bytes) + be16(IPPROTO_TCP);
    const u8 *from = back ? g->destination : g->source, *to = back ? g->source : g->destination;
    if (g->v6) {
        struct ipv6hdr ip = { .version = 6, .payload_len = be16(bytes), .nexthdr = IPPROTO_TCP, .hop_limit = 64 };
        __builtin_memcpy(&ip.saddr, from, 16);
        __builtin_memcpy(&ip.daddr, to, 16);
        sum = csum_diff(0, 0, &ip.saddr, 32, sum);
        if (skb_store(s, ETH_HLEN, &ip, sizeof ip, BPF_F_RECOMPUTE_CSUM)) return -1;
    } else {
        struct iphdr ip = { .version = 4, .ihl = 5, .tot_len = be16(20 + bytes), .frag_off = be16(0x4000), .ttl = 64,
                            .protocol = IPPROTO_TCP };
        __builtin_memcpy(&ip.saddr, from, 4);
        __builtin_memcpy(&ip.daddr, to, 4);
        ip.check = folded(csum_diff(0, 0, &ip, 20, 0));
        sum = csum_diff(0, 0, &ip.saddr, 8, sum);
        if (skb_store(s, ETH_HLEN, &ip, sizeof ip, BPF_F_RECOMPUTE_CSUM)) return -1;
    }
    if (back && h->merged) h->t.tcp.check = ~folded(sum);
    else {
        sum = csum_diff(0, 0, &h->t.tcp, 20, sum);
        if (stamps) sum = csum_diff(0, 0, h->t.stamps, 12, sum);
        if (body) sum = csum_diff(0, 0, (void *)replies[body - 1 & 1], REPLY, sum);
        h->t.tcp.check = folded(sum);
    }
    u32 at = ETH_HLEN + ip_length;
    if (skb_store(s, at, &h->t, 20, BPF_F_RECOMPUTE_CSUM)) return -1;
    if (stamps && skb_store(s, at + 20, h->t.stamps, 12, BPF_F_RECOMPUTE_CSUM)) return -1;
    if (body && skb_store(s, at + tcp_length, replies[body - 1 & 1], REPLY, BPF_F_RECOMPUTE_CSUM)) return -1;
    u8 swapped[12];
    __builtin_memcpy(swapped, h->mac + 6, 6);
    __builtin_memcpy(swapped + 6, h->mac, 6);
    return skb_store(s, 0, back ? swapped : h->mac, 12, 0);
}

/* Answers the client, and the segment becomes a RST to the server: its request socket goes before anybody accepts it. */
once_ int answer(struct __sk_buff *s, const struct segment *g, u32 how)
{
    if (!g) return DROPPED;
    struct heads h = { .merged = s->gso_size };
    u8 old[12];
    u32 length = g->end - g->pay, syn = g->flags & SYN ? 1 : 0;
    if (skb_load(s, 0, h.mac, 12)) return DROPPED;
    /* Some clients drop what comes without a time stamp once there were some. Ours is what the server said last. */
    if (g->doff >= 32 && !skb_load(s, g->tcp + 20, old, 12) && *(u32 *)old == be32(0x0101080a)) {
        __builtin_memcpy(&h.t.stamps[0], old, 4);
        __builtin_memcpy(&h.t.stamps[1], old + 8, 4);
        __builtin_memcpy(&h.t.stamps[2], old + 4, 4);
    }
    h.t.tcp.seq = g->flags & ACK ? g->ack : 0;
    h.t.tcp.ack_seq = be32(be32(g->seq) + length + syn);
    h.t.tcp.window = be16(512);
    u32 body = how == STATUS_503 ? 1 : how == STATUS_429 ? 2 : 0;
    if (body ? make(s, g, &h, true, FIN | PSH | ACK, body) : make(s, g, &h, true, RST | ACK, 0)) return DROPPED;
    clone_redirect(s, s->ifindex, 0);                              /* out again: as what comes in it would be a martian on lo */
    if (syn) return DROPPED;
    h.t.tcp.seq = be32(g->next);                                   /* any other would be asked about */
    h.t.tcp.ack_seq = g->ack;
    return make(s, g, &h, false, RST | ACK, 0) ? DROPPED : NEXT;
}

/* Counts a decision, and says whether it is carried out. */
inline_ bool refused(const struct rule *rule, u32 reason)
{
    if (rule) tally(rule->place, reason);
    if (!reason) return false;
    note(REFUSALS + reason - 1);
    if (control.mode == ENFORCE) return true;
    note(WOULD);
    return false;
}

/* ---- the SYN stage ---- */
inline_ void flow_of(const struct segment *g, struct flow *flow)
{
    __builtin_memcpy(flow->source, g->source, 32);                 /* and destination */
    flow->source_port = g->source_port;
    flow->port = g->port;
}

inline_ bool has_requests(const volatile struct side *side)
{
    return side->odd != NO_RULE || side->unread != NO_RULE || side->flags & (HAS_EXACT | HAS_PREFIX | HAS_CONTAINS);
}

/* `flooded`: the rules that drop were asked in the driver. */
static __attribute__((noinline)) int syn_stage(struct __sk_buff *s, struct segment *g, u32 flooded)
{
    u32 slot = control.slot & 1;
    const volatile struct side *side = &control.side[slot];
    u32 id = source_rule(g->source, g->destination, g->v6, side->flags, slot);
    struct rule *rule = rule_of(id, slot);
    u8 class = rule && rule->class != NO_CLASS ? rule->class : side->lowest;
    note(PACKETS);
    if (ports[slot][be16(g->port)] == CLASS_PORT && refused(0, TO_CLASS)) return answer(s, g, RESET);
    /* A request that a SYN brings is read by nobody here. Dropped, its client sends the SYN again without. */
    if (has_requests(side) && (g->pay < g->end || g->cut) && refused(0, SYN_DATA)) return DROPPED;
    if (refused(rule, judge(rule, g, side, class, flooded && rule && rule->refuse == DROP))) {
        return rule && rule->refuse == RESET ? answer(s, g, RESET) : DROPPED;
    }
    note(LET_IN);
    if (tracked) {
        struct flow flow = {};
        flow_of(g, &flow);
        map_drop(&flows, &flow);
    }
    return NEXT;
}

/* ---- the head stage ---- */
#define ONES 0x0101010101010101ULL
#define TOPS 0x8080808080808080ULL
/* Bytes of a word that are c: right up to the lowest one. And exactly. */
inline_ u64 lowest(u64 word, u8 c) { word ^= ONES * c; return (word - ONES) & ~word & TOPS; }
inline_ u64 all(u64 word, u8 c) { word ^= ONES * c; return ~(((word & ~TOPS) + ~TOPS) | word) & TOPS; }
/* Bytes that are no printable ASCII: control, space, 0x7f, from 0x80 on; right up to the lowest. */
inline_ u64 others(u64 word) { return ((word - ONES * 0x21) & ~word & TOPS) | (word & TOPS) | lowest(word, 0x7f); }
inline_ u32 first(u64 mask) { return (u32)__builtin_popcountll((mask & -mask) - 1) >> 3; }
inline_ u64 word_at(const struct text *t, u32 at) { return *(const u64 *)(t->byte + (at & 0xff)); }

/* The same number, of which the verifier has forgotten what it knew: else it goes through all that follows for each there can be. */
inline_ u32 forgotten(struct text *t, u32 number)
{
    t->spare = number;
    return t->spare;
}

enum { HEAD_NEXT, HEAD_BODY, HEAD_UNREAD, HEAD_ODD, HEAD_LONG };  /* what comes after a head, as reference/head.rs */

/* Two of them, keyed by what nobody outside knows: paths of one pattern's choice meet in one or the other, hardly in both. */
inline_ void mix(u64 *hash, u64 word)
{
    hash[0] = (hash[0] ^ word) * 0x9e3779b97f4a7c15ULL;
    hash[0] ^= hash[0] >> 29;
    hash[1] = (hash[1] + word) * 0xd6e8feb86659fd93ULL;
    hash[1] ^= hash[1] >> 32;
}

/* The turns of a helper's loop keep what they know in the text's map: of what lies on the stack the verifier knows each number,
 * and goes on until it has seen them all. */
struct turns { struct text *t; };

static long parts_turn(u32 i, void *context)
{
    struct text *t = ((struct turns *)context)->t;
    struct turn *turn = &t->turn;
    u8 c = t->byte[(turn->at + i) & 0xff];
    if (c != '/') turn->state = c == '.' ? turn->state + 1 : 8;
    else if (turn->state < 3) return turn->found = 1;
    else turn->state = 0;                                          /* dots since the last `/`; from 8 on something else, too */
    return 0;
}

/* Whether a part of the path is empty, and not the last one, or `.` or `..`. */
inline_ bool goes_up(struct text *t, u32 path, u32 length)
{
    struct turns turns = { t };
    t->turn = (struct turn){ .at = path, .state = 8 };
    bpf_loop(length, parts_turn, &turns, 0);
    return t->turn.found || t->turn.state == 1 || t->turn.state == 2;
}

/* Goes through the path, eight bytes at a time, and hashes it. Returns where it ends in what is read, or `n` where that is not
 * read; `h->plain`: it can be read in one way only. Bytes that are rare in paths are told apart only where one is. */
once_ int path(struct text *t, struct head *h, u32 at, u32 n)
{
    if (!t || !h) return 0;
    u64 hash[2] = { h->hash[0], h->hash[1] };
    u64 parts = 0, strange = 0, pair = 0, word = 0, stop = 0;
    u32 here = at;
    for (u32 i = 0; i < READ / 8 + 1; i++) {
        if (here >= n) return n;
        word = word_at(t, here);
        /* Below `-`, from 8 to `?`, `\\`, no ASCII: what may end it or be strange. */
        u64 rare = (word - ONES * 0x2d) & ~word, eights = (word ^ ONES * 0x38) & ONES * 0xf8;
        rare |= ((eights - ONES) & ~eights) | word | lowest(word, '\\') | lowest(word, 0x7f);
        u64 within = ~0ULL;
        if (rare & TOPS) {
            stop = others(word) | lowest(word, '?');
            within = (stop & -stop) - 1;                           /* all where there is no end, and its byte's highest bit never */
            strange |= (lowest(word, '%') | lowest(word, '\\') | lowest(word, '#') | lowest(word, ';')) & within;
        }
        u64 both = all(word | ONES, '/');                          /* `/` and `.` */
        pair |= both & (both << 8 | parts >> 56) & within;
        parts = both;
        if (stop) break;
        mix(hash, word);
        here = forgotten(t, here + 8);
    }
    u32 bytes = first(stop), end = forgotten(t, here + bytes), length = end - at;
    if (!stop || end >= n) return n;
    mix(hash, word & ((1ULL << bytes * 8) - 1));
    mix(hash, length);
    h->hash[0] = hash[0];
    h->hash[1] = hash[1];
    h->path_length = length;
    h->plain = length && t->byte[at & 0xff] == '/' && !strange && !(pair && goes_up(t, at, length));
    return end;
}

/* The first byte from `at` on that is not printable. */
once_ int end_of_target(struct text *t, u32 at, u32 n)
{
    if (!t) return n;
    for (u32 i = 0; i < READ / 8 + 1; i++) {
        if (at >= n) return n;
        u64 stop = others(word_at(t, at));
        if (stop) return at + first(stop);
        at = forgotten(t, at + 8);
    }
    return n;
}

enum { CUT, ODD_ONE, WHOLE };

/* Whether what lies at `at` are `bytes` of a word, or as many as are read. WHOLE, CUT or ODD_ONE. */
inline_ u32 expect(const struct text *t, u32 at, u32 n, u64 word, u32 bytes)
{
    u32 here = n - at < bytes ? n - at : bytes;
    u64 mask = here ? ~0ULL >> ((64 - here * 8) & 63) : 0;
    return (word_at(t, at) ^ word) & mask ? ODD_ONE : here < bytes ? CUT : WHOLE;
}

#define LOWER 0x2020202020202020ULL
inline_ bool is_content_length(const struct text *t, u32 at)
{
    return (word_at(t, at) | LOWER) == 0x2d746e65746e6f63ULL /* content- */
        && ((word_at(t, at + 8) | LOWER) & 0xffffffffffffULL) == 0x6874676e656cULL; /* length */
}

inline_ bool is_transfer_encoding(const struct text *t, u32 at)
{
    return (word_at(t, at) | LOWER) == 0x726566736e617274ULL /* transfer */
        && (word_at(t, at + 8) | LOWER) == 0x6e69646f636e652dULL /* -encodin */ && (t->byte[(at + 16) & 0xff] | 0x20) == 'g';
}

enum { NOWHERE = 0xffffffff, UNSAID = 0xffffffff, UNCLEAR = 0xfffffffe };

inline_ bool is_upgrade(const struct text *t, u32 at)
{
    return ((word_at(t, at) | LOWER) & 0xffffffffffffffULL) == 0x65646172677075ULL && t->byte[(at + 7) & 0xff] == ':';
}

/* What a field says that begins at `line`; `end`: where it ends, NOWHERE if that is not read. */
inline_ void field(struct text *t, u32 line, u32 end)
{
    u8 c = t->byte[line & 0xff] | 0x20;
    if (c == 'c' && is_content_length(t, line)) {
        if (t->length_at || end == NOWHERE) t->unclear = 1;
        t->length_at = line + 14;
        t->length_end = end;
    } else if (c == 't' && is_transfer_encoding(t, line)) t->unclear = 1;
    else if (c == 'u' && is_upgrade(t, line)) t->upgrade = 1;
}

/* Goes through the fields from `*from` on, to the empty line: a turn goes on by eight bytes, or by a line, three at least. WHOLE: `*from`
 * is behind it; CUT: it is not read, and a next window begins at `resume`. */
once_ int fields(struct text *t, u32 *from, u32 n)
{
    if (!t || !from) return ODD_ONE;
    u32 at = *from, line = t->inside ? NOWHERE : at;
    t->length_at = 0;
    for (u32 i = 0; i < READ / 3 + READ / 8; i++) {
        if (at >= n) break;
        u64 word = word_at(t, at), ends = lowest(word, '\r') | lowest(word, '\n');
        if (!ends) {
            at = forgotten(t, at + 8);
            continue;
        }
        at += first(ends);
        if (at >= n) break;
        u32 got = expect(t, at, n, 0x0a0d, 2);
        if (got == ODD_ONE) return ODD_ONE;
        if (got == CUT) break;
        if (at == line) {
            *from = at + 2;
            return WHOLE;
        }
        if (line != NOWHERE) {
            u8 c = t->byte[line & 0xff];
            if (c == ' ' || c == '\t') return ODD_ONE;
            field(t, line, at);
        }
        at = line = forgotten(t, at + 2);
    }
    t->inside = line == NOWHERE || !line;
    t->resume = t->inside ? n - 1 : line;
    if (!line && n >= 17) field(t, 0, NOWHERE);                    /* a line that is longer than all that is read at once */
    *from = line;
    return CUT;
}

static long digits_turn(u32 i, void *context)
{
    struct text *t = ((struct turns *)context)->t;
    struct turn *turn = &t->turn;                                  /* state: digits so far, 16 and more behind them */
    if (turn->at + i >= turn->end) return 1;
    u8 c = t->byte[(turn->at + i) & 0xff];
    if (c == ' ' || c == '\t') {
        if (turn->state) turn->state |= 16;
        return 0;
    }
    if (c < '0' || c > '9' || ++turn->state > 9) {
        turn->state = 0;
        return 1;
    }
    turn->found = turn->found * 10 + (c - '0');
    return 0;
}

/* Adds what the fields of this window say of a body: its length, below 10^9, or one of the above. */
inline_ void add_length(struct text *t)
{
    if (t->length_at) {
        struct turns turns = { t };
        t->turn = (struct turn){ .at = t->length_at + 1, .end = t->length_end };
        if (!t->unclear) bpf_loop(READ, digits_turn, &turns, 0);
        bool clear = t->body == UNSAID && t->byte[t->length_at & 0xff] == ':' && t->turn.state;
        t->body = clear ? t->turn.found : UNCLEAR;
    }
    if (t->unclear) t->body = UNCLEAR;
}

/* What comes after a head that ends at `end` of a segment of `length` bytes. */
inline_ void ended(struct head *h, const struct text *t, u32 end, u32 length)
{
    u32 body = t->body, more = length - end;
    u8 plain = h->plain;
    h->plain = h->longer = 0;
    h->after = HEAD_ODD;
    if (body == UNSAID) body = 0;
    else if (body && !h->body) return;
    if (body != UNCLEAR && more > body) return;
    h->plain = plain;
    h->after = more == body ? HEAD_NEXT : HEAD_BODY;
    h->body_end = end + body;
    h->unread = body == UNCLEAR ? LENGTHLESS : t->upgrade ? UPGRADE : 0;
    if (h->unread) h->after = HEAD_UNREAD;
}

/* TLS records and HTTP/2 are read by nobody here; a server of HTTP/1 ends a connection that begins like them. Of HTTP/2's preface the
 * first line alone is a request to some. */
inline_ u8 unreadable(const struct text *t, u32 n)
{
    if (n >= 2 && t->byte[0] >= 0x14 && t->byte[0] <= 0x17 && t->byte[1] == 3) return TLS;
    return n >= 24 && word_at(t, 0) == 0x5448202a20495250ULL && word_at(t, 8) == 0x0a0d302e322f5054ULL
        && word_at(t, 16) == 0x0a0d0a0d4d530a0dULL ? HTTP2 : 0;    /* PRI * HTTP/2.0, SM */
}

/* The characters of a method, RFC 9110's token. */
inline_ bool is_token(u8 c)
{
    return c < 128 && (c < 64 ? 0x03ff6cfa00000000ULL >> c : 0x57ffffffc7fffffeULL >> (c - 64)) & 1;
}

/* Reads what begins a segment of `length` bytes, `n` of which are in `t`: `reference/head.rs`, step by step. */
once_ int read_head(struct text *t, struct head *h, u32 n, u32 length)
{
    if (!t || !h) return 0;
    n &= 0xff;
    u32 at = 0;
    u64 word = word_at(t, 0);
    h->after = HEAD_ODD;
    t->unclear = t->upgrade = t->inside = t->resume = 0;
    t->body = UNSAID;
    if ((u32)word == 0x20544547) at = 4;                           /* GET, space */
    else {
        for (; at < 16; at++) {
            if (at >= n || !is_token(t->byte[at])) break;
        }
        at = forgotten(t, at);
        if (!at || at > 15 || at >= n || t->byte[at & 15] != ' ') {
            h->unread = unreadable(t, n);
            if (h->unread) h->after = HEAD_UNREAD;
            return 0;
        }
        h->body = (at == 4 && (u32)word == 0x54534f50) || (at == 3 && (word & 0xffffff) == 0x545550)
            || (at == 5 && (word & 0xffffffffffULL) == 0x4843544150ULL); /* POST, PUT, PATCH */
        if (at == 3 && unreadable(t, n)) {
            h->unread = HTTP2;
            h->after = HEAD_UNREAD;
            return 0;
        }
        at++;
    }
    h->path = at;
    t->inside = 1;                                                 /* where its first line is longer than what is read */
    t->resume = n - 1;
    u32 end = path(t, h, at, n);
    if (end < n && t->byte[end & 0xff] == '?') end = end_of_target(t, end, n);
    u8 plain = h->plain;
    h->plain = 0;
    h->longer = length > READ;
    if (end >= n) return 0;
    u32 got = expect(t, end, n, 0x2e312f5054544820ULL, 8);         /* space, HTTP/1. */
    if (got == CUT) return 0;
    if (got == WHOLE) {
        end += 8;
        if (end < n) {
            u8 minor = t->byte[end & 0xff];
            got = minor == '0' || minor == '1' ? expect(t, end + 1, n, 0x0a0d, 2) : ODD_ONE;
        } else got = CUT;
    }
    if (got == WHOLE) {
        end += 3;
        t->inside = 0;
        got = fields(t, &end, n);
        add_length(t);
    }
    if (got == ODD_ONE) {
        h->longer = 0;
        return 0;
    }
    h->plain = plain && (got == WHOLE || h->longer);               /* a head that a short segment does not hold whole is split */
    if (got == WHOLE) ended(h, t, end, length);
    return 0;
}

struct windows { struct __sk_buff *s; struct text *t; };

static long window_turn(u32 i, void *context)
{
    struct windows *w = context;
    struct text *t = w->t;
    u32 left = t->end - t->at, n = (left < READ ? left : READ) & 0xff, from = 0;
    t->got = ODD_ONE;
    if (left > 0xffffff || !n || skb_load(w->s, t->at, t->byte, n)) return 1;
    *(u64 *)(t->byte + n) = 0;
    t->got = fields(t, &from, n);
    add_length(t);
    if (t->got == CUT && left > READ) {
        t->at += t->resume;
        return 0;
    }
    t->resume = from;                                              /* where its last line begins, or what is behind the empty one */
    if (t->got == WHOLE) t->at += from;
    return 1;
}

enum { IN_LINE, AFTER_CR, LINE_BEGINS, LINE_CR, HAS_UPGRADE = 4 };

/* Where a head is broken off by the end of its segment, whose last window is in `t`. A name that is broken off may be that of a length. */
inline_ u8 carried(struct text *t)
{
    u32 n = (t->end - t->at) & 0xff, bytes = n - t->resume;
    u8 carry = n && t->byte[(n - 1) & 0xff] == '\r' ? AFTER_CR : IN_LINE;
    if (t->resume == NOWHERE) return carry;
    if (!bytes) return LINE_BEGINS;
    if (bytes == 1 && carry == AFTER_CR) return LINE_CR;
    u64 mask = bytes < 8 ? (1ULL << (bytes & 7) * 8) - 1 : ~0ULL, word = word_at(t, t->resume) | LOWER;
    if (bytes >= 17) field(t, t->resume, NOWHERE);
    else if (!((word ^ 0x2d746e65746e6f63ULL) & mask) || !((word ^ 0x726566736e617274ULL) & mask)) t->unclear = 1;
    if (bytes >= 8 && is_upgrade(t, t->resume)) t->upgrade = 1;
    if (t->unclear) t->body = UNCLEAR;
    return carry;
}

/* Reads on in a head behind the first bytes of its segment, or behind those of the segment before. */
once_ int read_on(struct __sk_buff *s, const struct segment *g, struct head *h, u32 at, u32 carry)
{
    u32 one = 1;
    struct text *t = map_get(&texts, &one);
    if (!t || !g || !h) return 0;
    t->at = g->pay + at;
    t->end = g->end;
    u8 plain = h->plain, c;
    h->plain = h->longer = 0;
    h->after = HEAD_ODD;
    if (carry & AFTER_CR) {
        if (skb_load(s, t->at, &c, 1) || c != '\n') return 0;
        t->at++;
        h->plain = plain;
        if ((carry & 3) == LINE_CR) {
            ended(h, t, t->at - g->pay, g->end - g->pay);
            return 0;
        }
        t->inside = 0;
    }
    struct windows windows = { s, t };
    t->got = CUT;
    t->resume = 0;
    if (t->at < t->end) bpf_loop(600, window_turn, &windows, 0);
    if (t->got == ODD_ONE || (t->got == CUT && t->end - t->at > READ)) {
        h->plain = 0;
        return 0;
    }
    h->plain = plain;
    if (t->got == WHOLE) {
        ended(h, t, t->at - g->pay, g->end - g->pay);
        return 0;
    }
    h->carry = carried(t) | (t->upgrade ? HAS_UPGRADE : 0);
    if (h->body) h->unread = LENGTHLESS;
    bool none = t->body == UNSAID || !t->body;
    h->plain = plain && (h->body || none);
    h->after = h->body ? HEAD_UNREAD : none ? HEAD_LONG : HEAD_ODD;
    return 0;
}

static long contained_turn(u32 i, void *context)
{
    struct text *t = ((struct turns *)context)->t;
    struct turn *turn = &t->turn;
    u32 at = turn->at, key = 2 * turn->state + turn->slot;
    struct row *row = map_get(&automaton, &key);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (!row || at >= turn->end) return 1;
        turn->state = row->next[t->byte[at++ & 0xff] & 127];
        key = 2 * turn->state + turn->slot;
        row = map_get(&automaton, &key);
        if (row && row->first < turn->found) turn->found = row->first;
    }
    turn->at = at;
    return 0;
}

/* The first of the contained patterns, in the file's order. */
inline_ u32 contained(struct text *t, const struct head *h, u32 slot)
{
    struct turns turns = { t };
    t->turn = (struct turn){ .at = h->path, .end = h->path + h->path_length, .slot = slot, .found = NONE_ENDS };
    bpf_loop((h->path_length + 7) / 8, contained_turn, &turns, 0);
    return t->turn.found == NONE_ENDS ? NO_RULE : t->turn.found & 0xffff;
}

/* The rule of a plain path. */
inline_ u32 path_rule(struct text *t, const struct head *h, u32 flags, u32 slot)
{
    if (flags & HAS_EXACT) {
        struct exact key = { { h->hash[0], h->hash[1] } };
        u32 *id = map_get(&exact, &key);
        if (id) return *id;
    }
    if (flags & HAS_PREFIX) {
        /* The key is made where the path lies: what is before it was read. */
        struct path_key *key = (void *)(t->before + BEFORE - 12 + (h->path & 31));
        *(u64 *)key->data = slot;
        key->bits = 64 + h->path_length * 8;
        u32 *id = map_get(&prefixes, key);
        if (id) return *id;
    }
    return flags & HAS_CONTAINS ? contained(t, h, slot) : NO_RULE;
}

struct tcp_sock { u32 rcv_nxt; } __attribute__((preserve_access_index));
struct tcp_request_sock { u32 rcv_nxt; } __attribute__((preserve_access_index));

/* Whether a segment ends a handshake of which the server's kernel keeps nothing. */
inline_ bool has_cookie(void *listener, const struct segment *g)
{
    struct tcphdr tcp = { .source = g->source_port, .dest = g->port, .seq = g->seq, .ack_seq = g->ack, .doff = 5, .ack = 1 };
    if (!(g->flags & ACK)) return false;
    if (g->v6) {
        struct ipv6hdr ip = { .version = 6 };
        __builtin_memcpy(&ip.saddr, g->source, 32);                /* and daddr */
        return !check_syncookie(listener, &ip, sizeof ip, &tcp, sizeof tcp);
    }
    struct iphdr ip = { .version = 4, .ihl = 5 };
    __builtin_memcpy(&ip.saddr, g->source, 4);
    __builtin_memcpy(&ip.daddr, g->destination, 4);
    return !check_syncookie(listener, &ip, sizeof ip, &tcp, sizeof tcp);
}

/* What the server's kernel waits for in a connection that it has only a request for. Of a listener in a SOCKMAP no helper says it:
 * the address is made a number, by way of a map, and read at. */
inline_ bool first_of(void *socket, u32 *next)
{
    u32 zero = 0;
    struct text *t = map_get(&texts, &zero);
    if (!t) return false;
    *(volatile u64 *)&t->address = (u64)socket;
    const struct tcp_request_sock *request = (void *)*(volatile u64 *)&t->address;
    return !probe_read(next, 4, &request->rcv_nxt);
}

/* Whether a segment is of a connection that stands; `next` is then what the server's kernel waits for in it. */
once_ int standing(struct __sk_buff *s, struct segment *g)
{
    if (!g) return 0;
    g->next = control.next;
    if (unlikely(control.stands)) return control.stands == 1;
    struct bpf_sock_tuple tuple = {};
    u32 ports = g->source_port | (u32)g->port << 16, stands = 1;
    if (g->v6) {
        __builtin_memcpy(tuple.ipv6.saddr, g->source, 32);         /* and daddr */
        __builtin_memcpy(&tuple.ipv6.sport, &ports, 4);
    } else {
        __builtin_memcpy(&tuple.ipv4.saddr, g->source, 4);
        __builtin_memcpy(&tuple.ipv4.daddr, g->destination, 4);
        __builtin_memcpy(&tuple.ipv4.sport, &ports, 4);
    }
    struct bpf_sock *socket = skc_lookup_tcp(s, &tuple, g->v6 ? sizeof tuple.ipv6 : sizeof tuple.ipv4, BPF_F_CURRENT_NETNS, 0);
    if (!socket) return 0;
    if (socket->state == BPF_TCP_LISTEN) {
        g->next = be32(g->seq);
        stands = has_cookie(socket, g);
    } else if (socket->state == BPF_TCP_NEW_SYN_RECV) {
        stands = first_of(socket, &g->next);
    } else {
        struct tcp_sock *tcp = skc_to_tcp(socket);
        if (tcp) g->next = tcp->rcv_nxt;
        else stands = 0;
    }
    sk_release(socket);
    return stands;
}

enum { REST, BODY, STREAM, IS_ODD, IS_PLAIN };                     /* STREAM: becomes one that is not read, and begins no request */

/* Reads the request that begins a segment, or goes on in it. */
inline_ u32 request(struct __sk_buff *s, const struct segment *g, struct text *t, struct head *h, const struct within *within)
{
    u32 length = g->end - g->pay, n = (length < READ ? length : READ) & 0xff, one = 1;
    if (within) {
        struct text *rest = map_get(&texts, &one);
        if (!rest) return IS_ODD;
        rest->unclear = 0;
        rest->body = UNSAID;
        rest->upgrade = within->carry & HAS_UPGRADE;
        rest->inside = (within->carry & 3) != LINE_BEGINS;
        h->plain = 1;
        read_on(s, g, h, 0, within->carry);
        return h->plain ? REST : IS_ODD;
    }
    h->after = HEAD_ODD;
    if (!n || skb_load(s, g->pay, t->byte, n)) return IS_ODD;
    *(u64 *)(t->byte + n) = 0;                                     /* what lies behind is of another packet */
    read_head(t, h, n, length);
    if (h->longer) {
        struct text *rest = map_get(&texts, &one);
        if (!rest) return IS_ODD;
        rest->unclear = t->unclear;
        rest->body = t->body;
        rest->upgrade = t->upgrade;
        rest->inside = t->inside;
        read_on(s, g, h, t->resume, 0);
    }
    return h->plain ? IS_PLAIN : h->unread == TLS || h->unread == HTTP2 ? STREAM : IS_ODD;
}

inline_ s32 after(u32 one, u32 other) { return one - other; }      /* as TCP compares: within 2^31 */

/* What a segment with payload is; afterwards what is known of its connection is as after it. */
inline_ u32 told(struct __sk_buff *s, struct segment *g, struct text *t, struct head *h)
{
    struct flow *flow = &t->flow;
    flow_of(g, flow);
    u32 seq = be32(g->seq), end = seq + (g->end - g->pay);
    struct within *within = tracked ? map_get(&flows, flow) : 0;
    if (within && within->sure) {
        if (within->after == HEAD_UNREAD) return REST;
        if (within->after == HEAD_BODY && !g->cut && after(seq, within->from) >= 0 && after(within->until, end) >= 0) return BODY;
    }
    if (!standing(s, g)) return REST;                              /* read by nobody */
    if (after(g->next, seq) > 0 && !g->cut) {                      /* the server has that much of it */
        if (after(g->next, end) >= 0) return REST;
        g->pay += g->next - seq;
        seq = g->next;
        g->seq = be32(seq);
    }
    bool ahead = seq != g->next, unsure = false, anew = false, leaned = false;
    u32 known = HEAD_NEXT, kind = IS_ODD;
    if (within) {
        known = within->after;
        unsure = !within->sure && after(g->next, within->from) < 0;
        within->sure = !unsure;
        /* What was read of it was not taken, and comes again, perhaps as something else. */
        anew = unsure && known != HEAD_ODD && after(seq, within->from) < 0;
        leaned = within->leaned;
        if (anew || (known == HEAD_BODY && after(seq, within->until) >= 0)) known = HEAD_NEXT;
        if (!anew && unsure) within->leaned = 1;
    }
    h->after = HEAD_ODD;
    if (known == HEAD_UNREAD) return REST;
    if (!g->cut) {                                                 /* what is put together from fragments is not seen here */
        if (known == HEAD_BODY && after(within->until, end) >= 0) return BODY;
        if (known == HEAD_LONG && seq == within->from) kind = request(s, g, t, h, within);
        if (known == HEAD_NEXT && !ahead) kind = request(s, g, t, h, 0);
    }
    struct within *now = &t->now;
    *now = (struct within){ .from = end, .until = seq + h->body_end, .after = h->after, .carry = h->carry };
    if (anew && leaned && within) {
        now->leaned = 1;
        if (now->after != within->after || (now->after == HEAD_BODY && now->until != within->until) || now->after == HEAD_LONG) {
            now->after = HEAD_ODD;
            h->unread = 0;
            kind = IS_ODD;
        }
    }
    if (now->after != HEAD_NEXT) {
        if (!tracked) tracked = 1;
        map_put(&flows, flow, now, BPF_ANY);
    } else if (within) map_drop(&flows, flow);
    return kind;
}

/* Asks a rule; returns what becomes of the packet. `stream`: no reply can be written into it. */
static __attribute__((noinline)) int ask(struct __sk_buff *s, struct segment *g, u32 id, u32 stream)
{
    u32 slot = control.slot & 1;
    struct rule *rule = rule_of(id, slot);
    if (!rule || !refused(rule, judge(rule, g, &control.side[slot], rule->class, false))) return NEXT;
    return answer(s, g, stream ? RESET : rule->refuse) == DROPPED ? DROPPED : ANSWERED;
}

static __attribute__((noinline)) int head_stage(struct __sk_buff *s, struct segment *g)
{
    u32 zero = 0, slot = control.slot & 1;
    struct text *t = map_get(&texts, &zero);
    if (!t) return NEXT;
    const volatile struct side *side = &control.side[slot];
    if (!has_requests(side)) return NEXT;
    struct head *h = &t->head;
    *h = (struct head){ .hash = { side->seed[0], side->seed[1] } };
    note(PACKETS);
    u32 seen = told(s, g, t, h);
    if (seen == BODY) note(BODIES);
    int result = NEXT;
    if (seen >= IS_ODD) {
        note(HEADS);
        if (seen == IS_ODD) note(ODD);
        result = ask(s, g, seen == IS_ODD ? side->odd : path_rule(t, h, side->flags, slot), 0);
    }
    if (h->unread) {
        note(UNREAD + (h->unread - 1 & 3));
        if (result == NEXT) result = ask(s, g, side->unread, 1);
    }
    return result == DROPPED ? DROPPED : NEXT;
}

/* Takes the urgent mark off a segment: a server leaves an urgent byte out of what it reads. */
once_ int calm(struct __sk_buff *s, const struct segment *g)
{
    if (!g) return 0;
    u16 flags, calmed;
    if (skb_load(s, g->tcp + 12, &flags, 2)) return 0;
    calmed = flags & ~be16(URG);
    note(URGENT);
    if (control.mode == ENFORCE && !csum_replace(s, g->tcp + 16, flags, calmed, 2)) skb_store(s, g->tcp + 12, &calmed, 2, 0);
    return 0;
}

/* ---- programs ---- */
enum { OTHERHOST = 3, VLAN = 0xfff };                              /* PACKET_OTHERHOST; the bits of a tag that name one */

/* Whether a packet is not for the server: for another card, or a device above this one, to which it comes again; for another program;
 * or for another host, which is asked where no connection says it. */
inline_ bool is_elsewhere(struct __sk_buff *s, const struct segment *g, bool asks)
{
    if (unlikely(control.stands)) return false;
    return s->pkt_type == OTHERHOST || (s->vlan_present && s->vlan_tci & VLAN) || is_strange(g->destination, g->port, g->v6)
        || (asks && is_forwarded(s, g, s->ifindex));
}

inline_ int whole(struct __sk_buff *s, bool flooded)
{
    if (control.mode == OFF) return NEXT;
    void *data = (void *)(long)s->data, *end = (void *)(long)s->data_end;
    struct iphdr *ip = data + ETH_HLEN;
    struct tcphdr *tcp = data + ETH_HLEN + sizeof *ip;
    struct segment g = {};
    u32 found;
    if (likely(s->protocol == be16(ETH_P_IP) && (void *)(tcp + 1) <= end && ip->ihl == 5 && ip->protocol == IPPROTO_TCP
            && !(ip->frag_off & be16(0x3fff)))) {                  /* nearly every packet */
        if (!ports[control.slot & 1][be16(tcp->dest)]) return NEXT;
        u32 length = be16(ip->tot_len);
        g.end = length && ETH_HLEN + length < s->len ? ETH_HLEN + length : s->len;
        __builtin_memcpy(g.source, &ip->saddr, 4);
        __builtin_memcpy(g.destination, &ip->daddr, 4);
        found = tcp_head(&g, tcp, ETH_HLEN + sizeof *ip);
    } else found = find(s, false, s->protocol, s->len, &g);
    if (found == OTHER || is_elsewhere(s, &g, found == HEADLESS || (g.flags & (SYN | ACK)) == SYN || g.flags & URG)) return NEXT;
    if (found == HEADLESS) {
        note(PACKETS);
        return refused(0, FRAGMENT) ? DROPPED : NEXT;
    }
    if (unlikely(g.flags & URG) && has_requests(&control.side[control.slot & 1])) calm(s, &g);
    if ((g.flags & (SYN | ACK)) == SYN) return syn_stage(s, &g, flooded);
    if (g.flags & (SYN | RST) || (g.pay >= g.end && !g.cut)) return NEXT;
    return head_stage(s, &g);
}

SEC("classifier") int police(struct __sk_buff *s) { return whole(s, false); }
SEC("classifier") int heads(struct __sk_buff *s) { return whole(s, true); }

SEC("xdp") int flood(struct xdp_md *x)
{
    void *data = (void *)(long)x->data, *end = (void *)(long)x->data_end;
    struct ethhdr *mac = data;
    struct segment g = {};
    if (control.mode == OFF || (void *)(mac + 1) > end) return XDP_PASS;
    if (find(x, true, mac->h_proto, end - data, &g) != OURS || (g.flags & (SYN | ACK)) != SYN) return XDP_PASS;
    u32 slot = control.slot & 1;
    if (ports[slot][be16(g.port)] != PUBLIC_PORT || is_strange(g.destination, g.port, g.v6)) return XDP_PASS;
    if (!control.stands && is_forwarded(x, &g, x->ingress_ifindex)) return XDP_PASS;
    const volatile struct side *side = &control.side[slot];
    u32 id = source_rule(g.source, g.destination, g.v6, side->flags, slot);
    struct rule *rule = rule_of(id, slot);
    if (!rule || rule->refuse != DROP) return XDP_PASS;
    u32 reason = judge(rule, &g, side, NO_CLASS, false);
    if (!reason) return XDP_PASS;                                  /* counted when its queue has been looked at, too */
    note(PACKETS);
    return refused(rule, reason) ? XDP_DROP : XDP_PASS;
}

SEC("sk_lookup") int classify(struct bpf_sk_lookup *c)
{
    u32 slot = control.slot & 1;
    if (ports[slot][c->local_port & 0xffff] != PUBLIC_PORT || c->protocol != IPPROTO_TCP || control.mode == OFF) return SK_PASS;
    const volatile struct side *side = &control.side[slot];
    u32 source[4] = {}, destination[4] = {};
    bool v6 = c->family == 10;
    if (v6) {
        for (int i = 0; i < 4; i++) source[i] = c->remote_ip6[i], destination[i] = c->local_ip6[i];
    } else {
        source[0] = c->remote_ip4;
        destination[0] = c->local_ip4;
    }
    if (is_strange((u8 *)destination, be16(c->local_port), v6)) return SK_PASS;
    u32 id = source_rule((u8 *)source, (u8 *)destination, v6, side->flags, slot);
    struct rule *rule = rule_of(id, slot);
    u8 class = rule && rule->class != NO_CLASS ? rule->class : side->lowest;
    if (class >= CLASSES) return SK_PASS;
    u32 first = class * SOCKETS;
    void *socket = map_get(&listeners, &first);
    if (!socket) return SK_PASS;                                   /* the server has gone: as if nobody steered */
    sk_assign(c, socket, 0);
    sk_release(socket);
    return SK_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
