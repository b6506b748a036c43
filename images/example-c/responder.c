// The responder: it executes requests in PSN order and answers each with AckReq.
#include "example.h"

#include <inttypes.h>
#include <string.h>

// tell_receive reports that a receive was posted; one posted before the start is reported with the time of the start.
void tell_receive(struct qp *q)
{
	int64_t now = clock_now();
	say("{\"event\":\"receive\",\"at_ns\":%" PRId64 ",\"qp\":%d,\"wr\":%ld,\"bytes\":%" PRIu64 "}", now > host.start ? now : host.start, q->n, q->resp.given++, q->receive_len);
}

static void answer(struct qp *q, uint32_t psn, int syndrome)
{
	struct packet p = {.opcode = ACKNOWLEDGE, .psn = psn & PSN_MASK, .syndrome = (uint8_t)syndrome, .msn = q->resp.msn};
	int bytes = wire_send(q, &p);
	if (bytes > 0)
		occupy(clock_now(), bytes);
}

// refuse answers a request that must not be executed; the QP is in error from then on (IBTA 9.7.4.1), and with it the
// requests of its other half.
static void refuse(struct qp *q, int syndrome)
{
	answer(q, q->resp.expected, syndrome);
	fail(q, "WR_FLUSH_ERR");
}

// sequence reports whether the opcode is valid here: FIRST and ONLY between messages, MIDDLE and LAST inside one of
// their kind.
static bool sequence(const struct responder *r, bool send, bool first) { return first ? !r->inside : r->inside && r->send == send; }

static const uint32_t longest = 1u << 31; // bytes of a message (IBTA 9.4)

// fits reports whether the length of the payload is valid at its place in the message.
static bool fits(const struct qp *q, const struct packet *p, bool first, bool last)
{
	const struct responder *r = &q->resp;
	if ((uint32_t)p->len > r->left || p->len > q->mtu || (!last && p->len != q->mtu) || (last && !first && p->len == 0))
		return false;
	return r->send || (last ? (uint32_t)p->len == r->left : r->left <= longest); // a WRITE has DMALen bytes
}

// begin starts a message. A SEND fills the oldest receive, a WRITE the range of its RETH.
static void begin(struct qp *q, const struct packet *p, bool send)
{
	struct responder *r = &q->resp;
	r->send = send;
	r->got = 0;
	r->at = send ? 0 : p->va - q->va;
	r->left = send ? (uint32_t)q->receive_len : p->dmalen;
}

// allowed reports whether the WRITE is in the region and has its key; a WRITE of zero bytes is always allowed (IBTA
// C9-88).
static bool allowed(const struct qp *q, const struct packet *p)
{
	uint64_t off = p->va - q->va;
	return p->dmalen == 0 || (p->rkey == q->rkey && off <= q->len && p->dmalen <= q->len - off);
}

// place stores the payload. All receives share one buffer, because packets are judged and not memory.
static void place(struct qp *q, const struct packet *p)
{
	struct responder *r = &q->resp;
	uint8_t *region = r->send ? q->inbox : q->target;
	if (p->len)
		memcpy(region + r->at, p->payload, (size_t)p->len);
	r->at += (uint64_t)p->len;
	r->left -= (uint32_t)p->len;
	r->got += (uint32_t)p->len;
}

// received completes the receive that a SEND took.
static void received(struct qp *q, const char *status)
{
	struct responder *r = &q->resp;
	say("{\"event\":\"received\",\"at_ns\":%" PRId64 ",\"qp\":%d,\"wr\":%ld,\"operation\":\"SEND\",\"status\":\"%s\",\"bytes\":%u,\"psn\":%u}",
		clock_now(), q->n, r->taken++, status, r->got, r->expected);
	r->free--;
	if (q->replenish && !r->failed) {
		r->free++;
		tell_receive(q);
	}
}

static void finish(struct qp *q)
{
	q->resp.msn = (q->resp.msn + 1) & PSN_MASK;
	if (q->resp.send)
		received(q, "SUCCESS");
}

// execute executes the expected packet.
static void execute(struct qp *q, const struct packet *p)
{
	struct responder *r = &q->resp;
	bool send = p->opcode <= SEND_ONLY, first = p->opcode == SEND_FIRST || p->opcode == SEND_ONLY || p->opcode == WRITE_FIRST || p->opcode == WRITE_ONLY;
	bool last = p->opcode == SEND_LAST || p->opcode == SEND_ONLY || p->opcode == WRITE_LAST || p->opcode == WRITE_ONLY;
	bool known = p->opcode <= WRITE_ONLY && p->opcode != SEND_LAST_IMM && p->opcode != SEND_ONLY_IMM && p->opcode != WRITE_LAST_IMM;
	if (!known || !sequence(r, send, first) || (!send && !q->writable)) {
		refuse(q, NAK_INVALID);
		return;
	}
	if (send && first && r->free <= 0) {
		r->gap = true; // later requests are dropped in silence until this one comes again
		answer(q, r->expected, SYN_RNR | q->rnr_timer);
		return;
	}
	if (first)
		begin(q, p, send);
	if (!fits(q, p, first, last)) {
		refuse(q, NAK_INVALID);
		if (send)
			received(q, "LOC_LEN_ERR");
		return;
	}
	if (!send && first && !allowed(q, p)) {
		refuse(q, NAK_ACCESS);
		return;
	}
	place(q, p);
	r->inside = !last;
	if (last)
		finish(q);
	r->gap = false;
	r->expected = (r->expected + 1) & PSN_MASK;
	if (p->ackreq)
		answer(q, r->expected - 1, SYN_ACK);
}

// responder_receive handles a request by its PSN: it is the expected one, a duplicate, or out of order.
void responder_receive(struct qp *q, const struct packet *p, int64_t now)
{
	(void)now;
	struct responder *r = &q->resp;
	if (r->failed)
		return;
	int32_t d = after(p->psn, r->expected);
	if (d == 0) {
		execute(q, p);
	} else if (d < 0) {
		answer(q, r->expected - 1, SYN_ACK); // not executed again
	} else if (!r->gap || !host.repaired) {
		// THE PLANTED FAULT: without --repaired every packet behind a gap draws a NAK, where one for the gap is allowed.
		r->gap = true;
		answer(q, r->expected, NAK_SEQUENCE);
	}
}
