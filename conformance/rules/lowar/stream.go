package lowar

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// stream is the reference encoder. It processes the data packets that leave a port, and knows the repair packets that
// must follow them. A half-conversation has one for its requests and one for its READ responses.
//
// "LoWAR aligns the packets within each message with the predefined coding block size for each connection, ensuring
// each message begins its own encoding and decoding cycle to prevent cross-message coding" (LoWAR IV-B1). A block
// therefore ends with its r-th packet or with its message. A block that a retransmission interrupts ends without repair
// packets, and the retransmission begins another.
type stream struct {
	c     *rule.Context
	reads bool // it encodes READ responses

	// Hooks; nil ones are not called. data is called for every data packet. repair is called for every repair packet,
	// with the block sent last, which need not be the one that the packet names. short is called for a complete block
	// when its missing repair packets are too late; repairs of the block is the number sent.
	data   func(s *rule.Sight, b *block)
	repair func(s *rule.Sight, h *roce.Repair, b *block)
	short  func(b *block)
	sums   bool // the hooks need the units of a block

	r, depth    int       // parameters (r, c) of the next block
	next        announced // parameters announced for a later block
	started     bool      // a data packet was sent
	block       block
	interrupted psn.PSN // base of the block that the latest retransmission interrupted, if broken is set
	broken      bool
	begun       psn.PSN // first packet of the latest message, if inMessage is set
	inMessage   bool
	unprotected int64 // blocks that the device reported to have had no units for
	excused     int64 // of these, attributed to a block
	behind      int   // repair packets since the latest data packet
}

// announced is a change of parameters that takes effect with the block at first.
type announced struct {
	set   bool
	r, c  int
	first psn.PSN
}

// newStream returns the encoder of requests, or of READ responses.
func newStream(c *rule.Context, reads bool) *stream {
	st := &stream{c: c, reads: reads}
	st.r, st.depth = scheme(st.sender())
	return st
}

// sender returns the attributes of the end that encodes.
func (st *stream) sender() *engine.QP {
	if st.reads {
		return st.c.PeerAttr
	}
	return st.c.Attr
}

// scheme returns the parameters (r, c) that an end is configured with.
func scheme(q *engine.QP) (r, c int) {
	r, c = shim.BlockSize, shim.Interleaving
	if n, err := strconv.Atoi(q.Params["r"]); err == nil {
		r = n
	}
	if n, err := strconv.Atoi(q.Params["c"]); err == nil {
		c = n
	}
	return r, c
}

// mine reports whether s shows a packet that leaves the stream's sender.
func (st *stream) mine(s *rule.Sight) bool {
	if st.reads {
		return s.Point == trace.ResponderOut
	}
	return s.Point == trace.RequesterOut
}

// sight processes a packet; packets that do not leave the stream's sender are ignored.
func (st *stream) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case !st.mine(s) || !s.Intact():
	case p.Opcode == roce.LoWAR:
		st.shim(s)
	case coded(p.Opcode) && p.Opcode.IsReadResponse() == st.reads:
		st.send(s)
	case !st.reads:
		st.finish() // an uncoded request: no packet of the previous block can follow it
	}
}

// shim processes a packet of the shim.
func (st *stream) shim(s *rule.Sight) {
	h := &s.Pkt.Repair
	switch h.Type {
	case roce.RepairAnnounce:
		st.next = announced{true, int(h.R), int(h.C), h.Base}
	case roce.RepairData:
		if st.repair != nil {
			st.repair(s, h, &st.block)
		}
		st.behind++
		st.block.repairs++
		st.block.drops = append(st.block.drops, s.Rec.Lost())
	}
}

// send processes a data packet.
func (st *stream) send(s *rule.Sight) {
	p, b := s.Pkt, &st.block
	follows := st.started && p.PSN == b.end()
	switch {
	case !follows:
		if st.started && b.end().Less(p.PSN) {
			st.finish() // READ responses to different requests
		}
		st.broken = st.started && b.n > 0 && !b.complete()
		st.interrupted = b.base
		st.begin(p.PSN)
		b.again = st.started && p.PSN.Less(st.high())
	case b.complete() || p.Opcode.StartsMessage():
		again := b.again && s.Relation == rule.Again
		st.finish()
		st.begin(p.PSN)
		b.again = again
	}
	st.started = true
	if p.Opcode.StartsMessage() {
		st.begun, st.inMessage = p.PSN, true
	}
	b.add(s)
	if st.data != nil {
		st.data(s, b)
	}
	st.behind = 0
}

// high returns the PSN after all packets sent before.
func (st *stream) high() psn.PSN {
	if st.reads {
		return st.block.end()
	}
	return st.c.MAX
}

// begin begins a block at p.
func (st *stream) begin(p psn.PSN) {
	if st.next.set && st.next.first.LessEq(p) {
		st.r, st.depth, st.next.set = st.next.r, st.next.c, false
	}
	b := &st.block
	*b = block{base: p, r: st.r, c: st.depth, units: b.units, checks: b.checks, drops: b.drops[:0]}
	if !st.sums {
		return
	}
	if len(b.units) != b.c {
		b.units, b.checks = make([][]byte, max(b.c, 1)), make([]uint32, max(b.c, 1))
	}
	clear(b.checks)
	for i := range b.units {
		b.units[i] = b.units[i][:0]
	}
}

// finish reports missing repair packets, when the next data packet shows that they are late.
func (st *stream) finish() {
	b := &st.block
	if !st.started || !b.complete() || b.repairs >= b.want() || b.at == 0 {
		return
	}
	if b.repairs == 0 && st.unprotected > st.excused {
		st.excused++
		b.at = 0 // excused once
		return
	}
	peer := st.c.Decoders[0]
	if st.reads {
		peer = st.c.Decoders[1]
	}
	if b.repairs == 0 && !st.c.Offers(rule.Probes) && peer.Crowded() {
		return // it is not known whether a unit was free
	}
	if st.short != nil {
		st.short(b)
	}
	b.at = 0 // reported once
}

// event counts blocks for which the sender reports no coding units.
func (st *stream) event(e *trace.Event) {
	name := "enc_unprotected"
	if st.reads {
		name = "renc_unprotected"
	}
	if e.Kind == trace.Probe && e.Name == name && st.c.Mine(e) != st.reads {
		st.unprotected = e.Value
	}
}

// end reports overdue repair packets at the end of the trace.
func (st *stream) end(at vtime.Time) {
	if st.c.Late(blame(st.reads), st.block.at, rule.Patience, at) && !st.c.Failed && !st.c.Fatal {
		st.finish()
	}
}

// check makes the check of a rule about one stream.
func (st *stream) check() rule.Check {
	return rule.Check{Sight: st.sight, Event: st.event, End: st.end}
}
