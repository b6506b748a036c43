// The requester: it sends the posted requests in order, and goes back to the first missing packet.
//
//	   acknowledged   | sent, again to be sent  | never sent
//	------------------+--------------+----------+-----------
//	                 una            next       max
#include "example.h"

#include <inttypes.h>
#include <string.h>

// payload source: the bytes depend on request and offset only, so a retransmission is identical
static uint8_t pattern[1 << 16];

static struct request *at(struct requester *r, int i) { return &r->queue[(r->head + i) % MAX_DEPTH]; }

static const char *name(const struct request *w) { return w->send ? "SEND" : "WRITE"; }

// post_due posts the requests and receives that are due, requests while fewer than depth are outstanding.
void post_due(struct qp *q, int64_t now)
{
	struct requester *r = &q->req;
	for (struct work *w = q->works; w < q->works + q->nworks && !r->failed; w++)
		while (now >= host.start + w->after && (!w->count || w->posted < w->count)) {
			if (w->receive) {
				w->posted++;
				q->resp.free++;
				tell_receive(q);
				continue;
			}
			if (r->posted == q->depth)
				return;
			uint64_t k = (uint64_t)w->posted++;
			struct request *n = at(r, r->posted++);
			*n = (struct request){.wr = w->first + k, .va = q->peer_va + (uint64_t)w->offset + k % w->slots * w->stride,
				.bytes = w->bytes, .key = w->key, .send = w->send, .quiet = w->quiet, .solicited = w->solicited,
				.packets = w->bytes ? (int)((w->bytes + (uint32_t)q->mtu - 1) / (uint32_t)q->mtu) : 1};
			say("{\"event\":\"posted\",\"at_ns\":%" PRId64 ",\"qp\":%d,\"wr\":%" PRIu64 ",\"operation\":\"%s\",\"bytes\":%u,\"va\":%" PRIu64 ",\"rkey\":%u}",
				clock_now(), q->n, n->wr, name(n), n->bytes, n->va, n->key);
		}
}

// complete ends the oldest request.
static void complete(struct qp *q, const char *status)
{
	struct requester *r = &q->req;
	struct request *w = at(r, 0);
	bool good = !strcmp(status, "SUCCESS");
	if (!good || !w->quiet)
		say("{\"event\":\"completed\",\"at_ns\":%" PRId64 ",\"qp\":%d,\"wr\":%" PRIu64 ",\"operation\":\"%s\",\"status\":\"%s\",\"psn\":%u}",
			clock_now(), q->n, w->wr, name(w), status, (w->first + (uint32_t)w->packets - 1) & PSN_MASK);
	r->head = (r->head + 1) % MAX_DEPTH;
	r->posted--;
	r->completed++;
	if (r->begun)
		r->begun--;
	if (r->at)
		r->at--;
	else
		r->pkt = 0;
}

// fail brings the QP into error: the oldest request completes with a status, the others are flushed (IBTA 10.3.1). Both
// halves of the QP send, answer and post nothing from then on.
void fail(struct qp *q, const char *status)
{
	struct requester *r = &q->req;
	r->failed = q->resp.failed = true;
	r->timer = r->wait = 0;
	for (; r->posted; status = "WR_FLUSH_ERR") {
		if (!r->begun)
			at(r, 0)->first = r->max;
		complete(q, status);
	}
}

// go_back makes una the next packet to send.
static void go_back(struct requester *r)
{
	r->next = r->una;
	r->timer = 0;
	for (r->at = 0; r->at < r->begun; r->at++) {
		r->pkt = after(r->una, at(r, r->at)->first);
		if (r->pkt < at(r, r->at)->packets)
			return;
	}
	r->pkt = 0;
}

// advance acknowledges all packets before psn.
static void advance(struct qp *q, uint32_t psn, int64_t now)
{
	struct requester *r = &q->req;
	if (after(psn, r->una) <= 0)
		return;
	r->una = psn;
	r->retries = q->retries;
	r->rnr = q->rnr_retries;
	r->recovering = false;
	bool behind = after(r->next, r->una) < 0; // packets that were to be retransmitted have arrived
	while (r->begun && after(r->una, (at(r, 0)->first + (uint32_t)at(r, 0)->packets) & PSN_MASK) >= 0)
		complete(q, "SUCCESS");
	if (behind)
		go_back(r);
	r->timer = r->una == r->max || !q->timeout ? 0 : now + q->timeout;
}

// not_ready waits as long as the RNR NAK asks for (IBTA table 45) and then retransmits.
static void not_ready(struct qp *q, int code, int64_t now)
{
	static const int hundredths[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
		1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152}; // of a millisecond
	struct requester *r = &q->req;
	if (r->wait)
		return;
	if (q->rnr_retries != 7 && r->rnr-- == 0) {
		fail(q, "RNR_RETRY_EXC_ERR");
		return;
	}
	r->wait = now + hundredths[code] * 10000LL;
	go_back(r);
}

// requester_receive processes an ACK or a NAK. One with a PSN that is not outstanding is ignored.
void requester_receive(struct qp *q, const struct packet *p, int64_t now)
{
	struct requester *r = &q->req;
	int32_t d = after(p->psn, r->una);
	if (r->failed || d < 0 || d >= after(r->max, r->una))
		return;
	switch (p->syndrome >> 5) {
	case 0:
		advance(q, (p->psn + 1) & PSN_MASK, now);
		return;
	case 1:
		advance(q, p->psn, now);
		not_ready(q, p->syndrome & 31, now);
		return;
	case 3:
		break;
	default:
		return;
	}
	advance(q, p->psn, now);
	switch (p->syndrome) {
	case NAK_SEQUENCE:
		if (r->recovering)
			return;
		if (r->retries-- == 0) {
			fail(q, "RETRY_EXC_ERR");
			return;
		}
		go_back(r);
		r->recovering = true;
		return;
	case NAK_INVALID:
		fail(q, "REM_INV_REQ_ERR");
		return;
	case NAK_ACCESS:
		fail(q, "REM_ACCESS_ERR");
		return;
	case NAK_OPERATION:
		fail(q, "REM_OP_ERR");
	}
}

// requester_timer handles the end of an RNR wait and the expiry of the transport timer.
void requester_timer(struct qp *q, int64_t now)
{
	struct requester *r = &q->req;
	if (r->wait && now >= r->wait)
		r->wait = 0;
	if (!r->timer || now < r->timer)
		return;
	if (r->retries-- == 0) {
		fail(q, "RETRY_EXC_ERR");
		return;
	}
	note_late(now - r->timer);
	r->recovering = false;
	go_back(r);
}

// requester_ready reports whether a packet can be sent: fewer than half of all PSNs may be outstanding.
bool requester_ready(const struct qp *q, int64_t now)
{
	const struct requester *r = &q->req;
	return !r->failed && now >= r->wait && r->at < r->posted && (r->next != r->max || after(r->max, r->una) < (PSN_MASK >> 1) - 1);
}

// requester_send sends the next packet. It returns the bytes that it takes of the line, -1 when the device has no room.
int requester_send(struct qp *q, int64_t now)
{
	struct requester *r = &q->req;
	struct request *w = at(r, r->at);
	if (r->at == r->begun) {
		w->first = r->next;
		r->begun++;
	}
	bool first = r->pkt == 0, last = r->pkt == w->packets - 1;
	uint32_t off = (uint32_t)r->pkt * (uint32_t)q->mtu;
	struct packet p = {.psn = r->next, .len = last ? (int)(w->bytes - off) : q->mtu, .va = w->va, .rkey = w->key, .dmalen = w->bytes};
	p.opcode = (uint8_t)((w->send ? SEND_FIRST : WRITE_FIRST) + (first && last ? SEND_ONLY : first ? 0 : last ? SEND_LAST : SEND_MIDDLE));
	p.ackreq = last || (q->ack_every && (r->pkt + 1) % q->ack_every == 0);
	p.solicited = last && w->solicited;
	if (!pattern[1])
		for (size_t i = 0; i < sizeof pattern; i++)
			pattern[i] = (uint8_t)(i * 167 + i / 256);
	p.payload = pattern + (w->wr * 64 + off) % (sizeof pattern - 4096);
	int bytes = wire_send(q, &p);
	if (bytes < 0)
		return -1;
	if (p.ackreq && !r->timer && q->timeout)
		r->timer = now + q->timeout;
	r->next = (r->next + 1) & PSN_MASK;
	if (after(r->next, r->max) > 0)
		r->max = r->next;
	if (last) {
		r->at++;
		r->pkt = 0;
	} else {
		r->pkt++;
	}
	return bytes;
}
