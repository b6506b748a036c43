// The program: the conversation of ../CONTRACT.md around one loop that receives, lets timers run, posts and sends.
#include "example.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct host host;
struct qp *qps;
int nqps;

enum {
	BATCH = 32, // packets per round of the loop
	FEW = 4, MANY = 32, // packets that may be sent at once after a late wake-up: always, and at most
	PACKET = 1106, // bytes of one of 1 KiB on the line
};

int64_t clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t late; // longest wait of a packet or a timer to be served, in ns

// note_late records one wait.
void note_late(int64_t waited)
{
	if (waited > late)
		late = waited;
}

// order returns the next line, or NULL at the end of input, which is the request to end. It reads byte by byte and
// without stdio, so that no unread line is in a buffer that poll does not know.
static const char *order(void)
{
	static char line[1 << 16];
	flush();
	for (size_t n = 0; n < sizeof line - 1 && read(0, line + n, 1) == 1; n++)
		if (line[n] == '\n') {
			line[n] = 0;
			return line;
		}
	return NULL;
}

static void address(const char *line, const char *name, const char *format, uint8_t *into, int n)
{
	char s[32];
	unsigned v[6] = {0};
	if (!text(line, name, s, sizeof s) || sscanf(s, format, v, v + 1, v + 2, v + 3, v + 4, v + 5) != n)
		unsupported("address", name);
	for (int i = 0; i < n; i++)
		into[i] = (uint8_t)v[i];
}

static void setup(const char *line)
{
	if (number(line, "contract") != 1)
		unsupported("contract", "other than 1");
	text(line, "device", host.device, sizeof host.device);
	address(line, "mac", "%x:%x:%x:%x:%x:%x", host.mac, 6);
	address(line, "peer_mac", "%x:%x:%x:%x:%x:%x", host.peer_mac, 6);
	address(line, "ip", "%u.%u.%u.%u", host.ip, 4);
	address(line, "peer_ip", "%u.%u.%u.%u", host.peer_ip, 4);
	host.rate = number(line, "rate_bps");
	nqps = (int)number(line, "qps");
	if (nqps < 1 || nqps > MAX_QPS)
		unsupported("qps", "beyond max_qps");
	qps = calloc((size_t)nqps, sizeof *qps);
	if (!qps)
		broken("example-c: memory");
}

static struct qp *pair(int64_t n)
{
	if (n < 0 || n >= nqps)
		unsupported("qp", "beyond qps");
	return &qps[n];
}

static void new_qp(const char *line)
{
	struct qp *q = pair(number(line, "n"));
	char access[40];
	q->n = (int)number(line, "n");
	q->qpn = (uint32_t)number(line, "qpn");
	q->peer_qpn = (uint32_t)number(line, "peer_qpn");
	q->port = (uint16_t)number(line, "port");
	q->pkey = (uint16_t)number(line, "pkey");
	q->mtu = (int)number(line, "mtu");
	q->timeout = number(line, "timeout_ns");
	q->req.retries = q->retries = (int)number(line, "retries");
	q->req.rnr = q->rnr_retries = (int)number(line, "rnr_retries");
	q->rnr_timer = (int)number(line, "rnr_timer");
	q->depth = (int)number(line, "depth");
	q->ack_every = (int)number(line, "ack_every");
	q->va = (uint64_t)number(line, "va");
	q->len = (uint64_t)number(line, "len");
	q->rkey = (uint32_t)number(line, "rkey");
	q->peer_va = (uint64_t)number(line, "peer_va");
	q->receive_len = (uint64_t)number(line, "receive_len");
	q->replenish = truth(line, "replenish");
	q->writable = text(line, "access", access, sizeof access) && strstr(access, "write");
	q->resp.free = number(line, "receives");
	q->req.una = q->req.next = q->req.max = (uint32_t)number(line, "psn");
	q->resp.expected = (uint32_t)number(line, "peer_psn");
	q->target = calloc(1, q->len + 1);
	q->inbox = calloc(1, q->receive_len + 1);
	if (!q->target || !q->inbox)
		broken("example-c: memory");
	if (q->depth > MAX_DEPTH)
		q->depth = MAX_DEPTH; // a smaller depth is allowed
}

static void new_work(const char *line)
{
	struct qp *q = pair(number(line, "qp"));
	char op[16];
	if (q->nworks == MAX_WORKS)
		unsupported("work", "lines beyond 256");
	struct work *w = &q->works[q->nworks++];
	text(line, "operation", op, sizeof op);
	w->receive = truth(line, "receive");
	w->send = !strcmp(op, "SEND");
	if (!w->receive && !w->send && strcmp(op, "WRITE"))
		unsupported("operation", op);
	w->first = (uint64_t)number(line, "wr");
	w->bytes = (uint32_t)number(line, "bytes");
	w->count = number(line, "count");
	w->after = number(line, "after_ns");
	w->offset = number(line, "offset");
	w->stride = (uint64_t)number(line, "stride");
	w->slots = (uint64_t)number(line, "slots");
	w->key = (uint32_t)number(line, "key");
	w->solicited = truth(line, "solicited");
	w->quiet = truth(line, "unsignalled");
}

// prepare reads orders up to prepare.
static void prepare(void)
{
	for (const char *line; (line = order());) {
		char op[16];
		text(line, "op", op, sizeof op);
		if (!strcmp(op, "prepare"))
			return;
		if (!strcmp(op, "setup"))
			setup(line);
		else if (!strcmp(op, "qp"))
			new_qp(line);
		else if (!strcmp(op, "work"))
			new_work(line);
		else
			unsupported(op, "order"); // and there are no parameters
	}
	exit(0);
}

// progress reports the share of the work that is done, and once that all is done.
static void progress(int64_t now)
{
	static int64_t last;
	static bool idle;
	long done = 0, all = 0;
	bool pending = false;
	for (struct qp *q = qps; q < qps + nqps; q++) {
		done += q->req.completed;
		for (struct work *w = q->works; w < q->works + q->nworks; w++) {
			all += w->receive ? 0 : w->count;
			pending |= !q->req.failed && (!w->count || w->posted < w->count);
		}
		pending |= q->req.posted > 0;
	}
	if (!pending && !idle) {
		idle = true;
		say("{\"event\":\"idle\"}");
	}
	if (now - last > 200000000 && all) {
		last = now;
		say("{\"event\":\"share\",\"share\":%.4f}", done < all ? (double)done / (double)all : 1.0);
	}
}

// The line of the port: when it is free, whether there was nothing to send when it was last asked, and for how long it was
// free with something to send because the program was late by more than it may catch up.
static int64_t line, starved;
static bool rested = true;

static int64_t takes(int64_t bytes) { return (8000000000LL * bytes + host.rate - 1) / host.rate; } // of the line, in ns

// occupy books the bytes of a frame on the line. A program that woke up late catches up what a millisecond would have carried,
// but MANY packets at most, and FEW in any case: on a line so slow that a packet takes a millisecond it would lose time at each
// wake-up. After a rest it sends at the rate of the line from now on.
void occupy(int64_t now, int bytes)
{
	if (!host.rate)
		return;
	int64_t credit = 1000000;
	if (credit > takes(MANY * PACKET))
		credit = takes(MANY * PACKET);
	if (credit < takes(FEW * PACKET))
		credit = takes(FEW * PACKET);
	int64_t earliest = rested ? now : now - credit;
	if (line < earliest) {
		starved += rested ? 0 : earliest - line;
		line = earliest;
	}
	line += takes(bytes);
}

// transmit sends packets at the rate of the line, one of each QP in turn, and returns the time to call it again; 0 is
// when something else has happened.
static int64_t transmit(int64_t now)
{
	static int turn;
	int tried = 0;
	for (int n = 0; tried < nqps && n < BATCH; tried++) {
		struct qp *q = &qps[turn++ % nqps];
		if (!requester_ready(q, now))
			continue;
		if (line > now) {
			rested = false;
			return line;
		}
		int bytes = requester_send(q, now);
		if (bytes < 0)
			return now + 50000;
		occupy(now, bytes);
		rested = false;
		tried = -1;
		n++;
	}
	rested = tried == nqps;
	return rested ? 0 : now;
}

// nap waits for a packet, an order, or the next thing to do.
static bool nap(int64_t until, int64_t now)
{
	for (struct qp *q = qps; q < qps + nqps; q++) {
		if (q->req.timer && (!until || q->req.timer < until))
			until = q->req.timer;
		if (q->req.wait && (!until || q->req.wait < until))
			until = q->req.wait;
		for (struct work *w = q->works; w < q->works + q->nworks; w++)
			if (w->posted < w->count && host.start + w->after > now && (!until || host.start + w->after < until))
				until = host.start + w->after;
	}
	int64_t wait = until ? until - now : 100000000;
	if (wait < 0)
		wait = 0;
	if (wait > 100000000)
		wait = 100000000;
	flush();
	struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}, {.fd = wire_fd, .events = POLLIN}};
	struct timespec t = {.tv_nsec = wait};
	ppoll(fds, 2, &t, NULL);
	return fds[0].revents;
}

// is_request reports whether an opcode is an RC request. Other opcodes, except ACKs, are dropped in silence.
static bool is_request(uint8_t op) { return op <= READ_REQUEST || op == COMPARE_SWAP || op == FETCH_ADD || op == SEND_LAST_INV || op == SEND_ONLY_INV; }

// run serves the device until an order comes. Before the start it only answers packets; requests are posted from the
// start on.
static void run(bool started)
{
	for (;;) {
		struct packet p;
		struct qp *q;
		for (int got, n = 0; n < BATCH && (got = wire_receive(&p, &q)); n++)
			if (got > 0 && p.opcode == ACKNOWLEDGE)
				requester_receive(q, &p, clock_now());
			else if (got > 0 && is_request(p.opcode))
				responder_receive(q, &p, clock_now());
		int64_t now = clock_now(), next = 0;
		if (started && now >= host.start) {
			for (q = qps; q < qps + nqps; q++) {
				requester_timer(q, now);
				post_due(q, now);
			}
			next = transmit(now);
			progress(now);
		} else if (started) {
			next = host.start;
		}
		if (nap(next, now))
			return;
	}
}

static void stopped(void)
{
	int pending = 0;
	for (struct qp *q = qps; q < qps + nqps; q++)
		pending += q->req.posted;
	say("{\"event\":\"counter\",\"variable\":\"icrc\",\"value\":%ld}", bad_icrc);
	say("{\"event\":\"counter\",\"variable\":\"malformed\",\"value\":%ld}", malformed);
	say("{\"event\":\"counter\",\"variable\":\"qpn\",\"value\":%ld}", unknown_qp);
	char undone[48] = "";
	if (pending)
		snprintf(undone, sizeof undone, "%d requests never completed", pending);
	say("{\"event\":\"stopped\",\"undone\":\"%s\",\"dropped\":%u,\"late_ns\":%" PRId64 ",\"starved_ns\":%" PRId64 "}",
		undone, wire_dropped(), late, starved);
}

static void end(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	host.repaired = argc > 1 && !strcmp(argv[1], "--repaired");
	signal(SIGTERM, end);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16); // fully buffered, also on a terminal
	say("{\"event\":\"capabilities\",\"contract\":1,\"program\":\"example-c\",\"version\":\"1%s\",\"operations\":\"SEND WRITE\","
	    "\"serves\":\"SEND WRITE\",\"mtus\":\"256 512 1024 2048 4096\",\"recovery\":\"gbn\",\"max_qps\":%d,\"reports\":\"cqe\"}",
		host.repaired ? "-repaired" : "", MAX_QPS);
	prepare();
	wire_open();
	say("{\"event\":\"ready\"}");
	run(false);
	const char *line = order();
	if (!line)
		return 0;
	host.start = number(line, "at_ns");
	for (struct qp *q = qps; q < qps + nqps; q++)
		while (q->resp.given < q->resp.free)
			tell_receive(q);
	run(true);
	if (!order()) // stop is the only order during a run
		return 0;
	stopped();
	while (order()) {
	}
	return 0;
}
