// A reliable connection over RoCEv2 in a few hundred lines of C: SEND and WRITE, go-back-N, both halves of a QP. It keeps
// ../CONTRACT.md and shares no code with Gauntlet. Start reading at main.c.
//
// PSNs have 24 bits and wrap; they are compared by after(), never by <. Times are nanoseconds of CLOCK_MONOTONIC.
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAX_QPS = 64,
	MAX_WORKS = 256, // work lines of a QP
	MAX_DEPTH = 4096, // requests outstanding on a QP
	MAX_FRAME = 4096 + 128,
	PSN_MASK = 0xFFFFFF,
};

// The RC opcodes that the program knows (IBTA table 35).
enum {
	SEND_FIRST = 0, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
	WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY,
	READ_REQUEST = 12, ACKNOWLEDGE = 17, COMPARE_SWAP = 19, FETCH_ADD, SEND_LAST_INV = 22, SEND_ONLY_INV,
};

// AETH syndromes (IBTA 9.7.5.2). An RNR NAK has its timer code in the low five bits.
enum { SYN_ACK = 0x1F, SYN_RNR = 0x20, NAK_SEQUENCE = 0x60, NAK_INVALID = 0x61, NAK_ACCESS = 0x62, NAK_OPERATION = 0x63 };

// packet is the decoded fields between the UDP header and the ICRC.
struct packet {
	uint8_t opcode;
	bool solicited, ackreq;
	uint16_t pkey;
	uint32_t qpn, psn;
	uint64_t va; // RETH
	uint32_t rkey, dmalen;
	uint8_t syndrome; // AETH
	uint32_t msn;
	const uint8_t *payload;
	int len;
};

// work is a work line and the number of its requests posted so far.
struct work {
	bool send, receive, quiet, solicited; // quiet: no completion on success
	uint64_t first, stride, slots;
	int64_t offset, after;
	uint32_t bytes, key;
	long count, posted;
};

// request is a posted request. Its PSNs are assigned when its first packet is sent.
struct request {
	uint64_t wr, va;
	uint32_t bytes, key, first;
	int packets;
	bool send, quiet, solicited;
};

struct requester {
	struct request queue[MAX_DEPTH]; // a ring
	int head, posted, begun; // index of the oldest; requests in the ring; those with PSNs; 0 <= begun <= posted
	int at, pkt; // the packet to send next: its request, counted from the oldest, and its number in that request
	uint32_t una, next, max; // PSNs: oldest unacknowledged, sent next, lowest never sent; una <= next <= max
	int64_t timer, wait; // deadlines of the transport timer and of an RNR wait; 0 is off
	int retries, rnr; // retries left for timeouts and sequence NAKs, and for RNR NAKs
	bool recovering; // a NAK has begun the retransmission of una; further NAKs of una are ignored
	bool failed;
	long completed;
};

struct responder {
	uint32_t expected, msn;
	bool gap; // a request arrived out of order, or an RNR NAK was sent, and expected has not arrived since
	bool failed;
	bool inside, send; // inside a message; it is a SEND, not a WRITE
	uint64_t at; // offset of its next byte in the buffer or region
	uint32_t left; // bytes that it may still have
	long free, taken, given; // receives: posted and unused, used, and reported as posted
	uint32_t got;
};

struct qp {
	int n, mtu, depth, ack_every, retries, rnr_retries, rnr_timer;
	uint32_t qpn, peer_qpn, rkey;
	uint16_t port, pkey;
	int64_t timeout;
	uint64_t va, len, peer_va, receive_len;
	bool replenish, writable;
	uint8_t *target, *inbox;
	struct work works[MAX_WORKS];
	int nworks;
	struct requester req;
	struct responder resp;
};

// host is what the setup line says.
struct host {
	char device[32];
	uint8_t mac[6], peer_mac[6], ip[4], peer_ip[4];
	int64_t rate, start;
	bool repaired; // without the planted fault, see README.md
};

extern struct host host;
extern struct qp *qps;
extern int nqps;

// lines.c: the contract's lines.
bool text(const char *line, const char *name, char *into, size_t size);
int64_t number(const char *line, const char *name);
bool truth(const char *line, const char *name);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void flush(void);
_Noreturn void unsupported(const char *what, const char *which);
_Noreturn void broken(const char *what);

// wire.c: frames.
void wire_open(void);
int wire_send(const struct qp *q, const struct packet *p);
int wire_receive(struct packet *p, struct qp **q);
unsigned wire_dropped(void);
extern int wire_fd;
extern long bad_icrc, malformed, unknown_qp;

// requester.c
void post_due(struct qp *q, int64_t now);
void requester_receive(struct qp *q, const struct packet *p, int64_t now);
void requester_timer(struct qp *q, int64_t now);
bool requester_ready(const struct qp *q, int64_t now);
int requester_send(struct qp *q, int64_t now);
void fail(struct qp *q, const char *status);

// responder.c
void tell_receive(struct qp *q);
void responder_receive(struct qp *q, const struct packet *p, int64_t now);

// main.c
int64_t clock_now(void);
void occupy(int64_t now, int bytes);
void note_late(int64_t waited);

// after is the distance from b to a on the circle of PSNs, negative when a is before b.
static inline int32_t after(uint32_t a, uint32_t b) { return (int32_t)((a - b) << 8) >> 8; }

#endif
