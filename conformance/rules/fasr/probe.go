package fasr

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// snapshot is what an end of the QP reports of its state, after one input.
type snapshot struct {
	at vtime.Time

	// The receiver of requests ("rcv_").
	next, high                            psn.PSN
	path, lost, over, compression, blocks int64
	recorded, fallback                    int64

	sndLost int64    // the sender's lost-cnt
	paths   [4]int64 // of the four places of a QP: snd_, rcv_, rd_, rd_snd_
	unit    int64
	pool    map[string]int64
}

// The values of path.
const (
	normal = iota
	fast
	slow
)

// order is that in which an engine reports its variables. One that is not behind the last belongs to the next input, even
// if that came at the same instant.
var order = []string{"snd_path", "snd_lost_cnt", "rd_path", "sr_unit", "rcv_nxt", "rcv_path", "rcv_sack_high", "rcv_lost_cnt",
	"rcv_overflow", "rcv_compression_cnt", "rcv_blocks", "rcv_recorded", "rcv_fallback", "rd_snd_path", "pool_units",
	"pool_exhausted", "pool_bits"}

// watcher puts the variables that are reported together into snapshots.
type watcher struct {
	c     *rule.Context
	mine  bool // of the requester's side; otherwise the responder's
	cur   snapshot
	prev  snapshot
	dirty bool
	rank  int // in order, of the last variable
	step  func(prev, cur *snapshot)
}

// watch makes a check that is called for every change of state at one side.
func watch(mine bool, step func(c *rule.Context, prev, cur *snapshot)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		w := newWatcher(c, mine)
		w.step = func(prev, cur *snapshot) { step(c, prev, cur) }
		return rule.Check{Event: w.event, End: func(vtime.Time) { w.flush() }}
	}
}

func newWatcher(c *rule.Context, mine bool) *watcher {
	w := &watcher{c: c, mine: mine}
	w.cur.pool = map[string]int64{}
	w.cur.next = c.Start
	w.prev = w.cur
	return w
}

func (w *watcher) event(e *trace.Event) {
	if w.dirty && e.At != w.cur.at {
		w.flush()
	}
	if e.Kind != trace.Probe || w.c.Mine(e) != w.mine {
		return
	}
	rank := slices.Index(order, e.Name)
	if rank < 0 {
		return
	}
	if w.dirty && rank <= w.rank {
		w.flush()
	}
	w.set(e.Name, e.Value)
	w.cur.at, w.dirty, w.rank = e.At, true, rank
}

func (w *watcher) flush() {
	if w.dirty {
		w.dirty = false
		w.step(&w.prev, &w.cur)
		w.prev = w.cur
	}
}

// set takes one variable.
func (w *watcher) set(name string, v int64) {
	s := &w.cur
	fields := map[string]*int64{
		"rcv_path": &s.path, "rcv_lost_cnt": &s.lost, "rcv_overflow": &s.over, "rcv_compression_cnt": &s.compression,
		"rcv_blocks": &s.blocks, "rcv_recorded": &s.recorded, "rcv_fallback": &s.fallback, "snd_lost_cnt": &s.sndLost, "sr_unit": &s.unit,
	}
	for i, place := range []string{"snd_path", "rcv_path", "rd_path", "rd_snd_path"} {
		if name == place {
			s.paths[i] = v
		}
	}
	switch {
	case name == "rcv_nxt":
		s.next = psn.New(uint32(v))
	case name == "rcv_sack_high":
		s.high = psn.New(uint32(v))
	case strings.HasPrefix(name, "pool_"):
		s.pool[name] = v
	case fields[name] != nil:
		*fields[name] = v
	}
}

// fail reports a violation that the reports at a moment show.
func fail(c *rule.Context, s *snapshot, who rule.Blame, text string) {
	c.FailAt(s.at, rule.NoRecord, who, text)
}

// responderState is the vantage of rules about the receiver's variables.
const responderState = rule.Probes | rule.Attributes

// state defines a rule about the receiver's variables.
func state(id, title, ref, requirement, stimulus string, step func(c *rule.Context, prev, cur *snapshot)) rule.Rule {
	return define(rule.Rule{ID: id, Level: rule.Must, Title: title, Source: rule.Source{Ref: ref, Requirement: requirement},
		Needs: responderState, Rests: validity.Sequence, Stimulus: stimulus, New: watch(false, step)})
}

var nothingWithoutLoss = define(rule.Rule{
	ID: "FASR-NRM-001", Level: rule.Must,
	Title:  "Without loss no SR state unit and no bitmap block is allocated",
	Source: rule.Source{Ref: "FASR III-C1", Requirement: "When there is no packet loss in the QP, this pointer is set to null."},
	Needs:  rule.TapResponder | responderState, Sees: rule.RequestIn, Stimulus: "a run without loss",
	New: func(c *rule.Context) rule.Check {
		early, arrived := false, false
		w := newWatcher(c, false)
		w.step = func(_, cur *snapshot) {
			switch {
			case early:
			case cur.path != normal || cur.blocks != 0:
				fail(c, cur, rule.Responder, "SR state is held although every packet came in its turn")
			case arrived:
				c.Met()
			}
		}
		return rule.Check{Event: w.event, End: func(vtime.Time) { w.flush() }, Sight: func(s *rule.Sight) {
			arrived = arrived || s.Relation == rule.InOrder
			early = early || s.Relation == rule.Ahead
		}}
	},
})

var fillCounts = state("FASR-LC-003", "A retransmission that is accepted on the slow path takes one off lost-cnt",
	"FASR III-B1", "lost-cnt [...] will decrease after receiving the retransmitted data packet.", "three lost packets in a row",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != slow || cur.path == normal || prev.over != 0 || !prev.next.Less(cur.next) || cur.high != prev.high {
			return
		}
		c.Met()
		if cur.lost != prev.lost-1 {
			fail(c, cur, rule.Responder, "RCV-NXT is filled and lost-cnt does not go down by one")
		}
	})

var overflowFreezes = state("FASR-LC-005", "lost-cnt stays within three bits; beyond, it overflows, and does not change until the recovery is over",
	"FASR III-D", "Once the receiver's lost-cnt overflows, it remains unchanged until the packet loss recovery is completed.",
	"nine lost packets in a row",
	func(c *rule.Context, prev, cur *snapshot) {
		if cur.over != 0 {
			c.Met()
		}
		switch {
		case cur.lost < 0 || cur.lost > maxLost:
			fail(c, cur, rule.Responder, "lost-cnt is beyond three bits")
		case prev.over != 0 && cur.path != normal && (cur.over == 0 || cur.lost != prev.lost):
			fail(c, cur, rule.Responder, "lost-cnt changes after an overflow, before the recovery is over")
		}
	})

var fastHoldsNoBlock = state("FASR-FAST-001", "With a lost-cnt of 1 no bitmap block is held: packets out of order move sack-high alone",
	"FASR III-B1", "When lost-cnt equals 1, only RCV-NXT is lost and fast path is selected. Only sack-high will be updated if FaSR "+
		"receives an OoO packet.", "one lost packet",
	func(c *rule.Context, prev, cur *snapshot) {
		if cur.path == normal || cur.lost != 1 || cur.over != 0 {
			return
		}
		c.Met()
		if cur.blocks != 0 || cur.path != fast {
			fail(c, cur, rule.Responder, "a bitmap is held with a lost-cnt of 1")
		}
	})

var fastJumps = state("FASR-FAST-002", "On the fast path the retransmission takes RCV-NXT behind sack-high at once, and recovery is over",
	"FASR III-B1", "When a retransmission packet (PSN=RCV-NXT) is received, the loss-recovery state is exited, and RCV-NXT is directly "+
		"updated to sack-high + 1.", "one lost packet",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != fast || prev.next == cur.next {
			return
		}
		c.Met()
		if cur.next != prev.high.Next() || cur.path != normal {
			fail(c, cur, rule.Responder, "RCV-NXT goes to "+c.Rel(cur.next)+", sack-high was "+c.Rel(prev.high))
		}
	})

var slowEndsAtOne = state("FASR-SLOW-002", "The slow path ends exactly when lost-cnt is 1 again, and all blocks are released then",
	"FASR III-B1", "Once lost-cnt decreases to 1 again, FaSR switches from the slow path to the fast path, and the bitmap is disabled.",
	"two lost packets in a row",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != slow || prev.over != 0 || cur.path == normal {
			return
		}
		c.Met()
		if one := cur.lost == 1 && cur.over == 0; one != (cur.path == fast) || one && cur.blocks != 0 {
			fail(c, cur, rule.Responder, "lost-cnt and path do not agree, or blocks are kept")
		}
	})

var compression = state("FASR-SLOW-003", "From fast to slow, an offset of a block or more becomes the compression-cnt; a shorter one makes it zero",
	"FASR III-D", "If the offset between RCV-NXT and sack-high is less than the size of one bitmap block when transitioning to the slow "+
		"path, the compression-cnt is set to zero.", "two losses, and fewer or more packets than a block between them",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != fast || cur.path != slow {
			return
		}
		c.Met()
		want := int64(prev.high.Sub(prev.next))
		if want < int64(parameter(c, "block_bits", 10)) {
			want = 0
		}
		if cur.compression != min(want, 1023) {
			fail(c, cur, rule.Responder, "the compression-cnt is not the old offset, or not zero below a block")
		}
	})

var blocksFollow = state("FASR-SLOW-004", "Blocks are taken at the tail as the list grows, and freed at the head as soon as they are passed",
	"FASR III-C2", "When a retransmitted packet is received, the bitmap block is released from the head of the linked list.",
	"a long burst of lost packets",
	func(c *rule.Context, prev, cur *snapshot) {
		if cur.path != slow {
			return
		}
		bits := int64(parameter(c, "block_bits", 10))
		n := cur.recorded - cur.compression
		// n bits that begin anywhere in a block lie in so many blocks at least and at most.
		least, most := (n+bits-1)/bits, (n+2*bits-2)/bits
		if cur.blocks < prev.blocks {
			c.Met()
		}
		if cur.blocks < least || cur.blocks > most {
			fail(c, cur, rule.Responder, "the blocks held are not those of the packets between RCV-NXT and sack-high")
		}
		if cur.recorded != int64(cur.high.Sub(cur.next)) {
			fail(c, cur, rule.Responder, "the bitmap does not reach from RCV-NXT to sack-high")
		}
	})

var countIsReceivers = define(rule.Rule{
	ID: "FASR-SND-005", Level: rule.MustNot,
	Title: "The sender does not change lost-cnt by itself: it is that of the last SACK, or zero outside recovery",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "The sender does not locally update its lost-cnt. Rather, it relies on the lost-cnt " +
		"transmitted by the receiver."},
	Needs: rule.TapRequester | responderState, Sees: rule.ResponseIn, Stimulus: "several lost packets",
	New: func(c *rule.Context) rule.Check {
		var heard []int64
		w := newWatcher(c, true)
		w.step = func(prev, cur *snapshot) {
			if cur.sndLost == prev.sndLost || cur.sndLost == 0 || switched(c, "lostcnt_credit") {
				return
			}
			c.Met()
			for i, n := range heard {
				if n == cur.sndLost {
					heard = heard[i:]
					return
				}
			}
			fail(c, cur, rule.Requester, "the sender's lost-cnt is not that of a SACK")
		}
		return rule.Check{Event: w.event, End: func(vtime.Time) { w.flush() }, Sight: func(s *rule.Sight) {
			if isSACK(s.Pkt) && s.Intact() {
				if n := len(heard); n == 0 || heard[n-1] != int64(s.Pkt.SACK.LostCnt) {
					heard = append(heard[max(0, n-64):], int64(s.Pkt.SACK.LostCnt))
				}
			}
		}}
	},
})

var unitsInUse = state("FASR-POOL-001", "A QP holds one SR state unit while any of its places is in recovery, and none otherwise",
	"FASR III-C1", "When QP exits the loss-recovery state, the corresponding position in the SR states bitmap is set to 0, and can be "+
		"used by other QPs.", "loss on several QPs",
	func(c *rule.Context, prev, cur *snapshot) {
		recovering := false
		for _, p := range cur.paths {
			recovering = recovering || p != normal
		}
		if prev.unit != 0 && cur.unit == 0 {
			c.Met()
		}
		if recovering != (cur.unit != 0) {
			fail(c, cur, rule.Responder, "the SR state pointer does not say whether the QP is in recovery")
		}
		if cur.unit != 0 && cur.pool["pool_units"] < 1 {
			fail(c, cur, rule.Responder, "a unit is held that the pool does not count")
		}
	})

var poolSize = state("FASR-POOL-002", "The pool is 38 bytes per unit and, per block, its bits and a pointer: 20 and 70 of ten bits are 917.5 bytes",
	"FASR III-D", "20 SR state units with a size of 38B [...] and 70 bitmap blocks with a size of 10 bits [...]. The total memory overhead "+
		"is 0.92 KB.", "any run",
	func(c *rule.Context, _, cur *snapshot) {
		got, reported := cur.pool["pool_bits"]
		if !reported {
			return
		}
		c.Met()
		blocks, pointer := parameter(c, "blocks", 70), 8
		if blocks > 255 {
			pointer = 16
		}
		if want := parameter(c, "units", 20)*38*8 + blocks*(parameter(c, "block_bits", 10)+pointer); got != int64(want) {
			fail(c, cur, rule.Responder, "the pool's size is not that of its units and blocks")
		}
		delete(cur.pool, "pool_bits") // once
	})

var recordedKept = state("FASR-POOL-004", "What was recorded before the pool was exhausted is kept: recovery ends behind it",
	"FASR III-D", "After the QP returns to GBN, the recorded OoO will not be deleted.", "a pool without blocks and two losses in one recovery",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.fallback == 0 || prev.path == normal {
			return
		}
		c.Met()
		if cur.path == normal && cur.next.LessEq(prev.high) {
			fail(c, cur, rule.Responder, "recorded packets up to "+c.Rel(prev.high)+" are given up, RCV-NXT is "+c.Rel(cur.next))
		}
	})

var poolSuffices = advice(state("FASR-POOL-005", "Twenty units and seventy blocks suffice for one QP with a window of 500 packets and two per cent of loss",
	"FASR III-D, V-D3", "FaSR supports OoO records with a packet loss rate of 0.02.", "one QP, two per cent of random loss",
	func(c *rule.Context, _, cur *snapshot) {
		if parameter(c, "units", 20) < 20 || parameter(c, "blocks", 70) < 70 || cur.pool["pool_units"] > 1 || cur.path == normal {
			return
		}
		c.Met()
		if cur.pool["pool_exhausted"] > 0 {
			fail(c, cur, rule.Responder, "the pool is exhausted")
		}
	}))

// advice makes a rule one of how much there is, which nobody has to keep.
func advice(r rule.Rule) rule.Rule {
	r.Level, r.Rests = rule.Should, validity.Everything
	return r
}

// placeable and readAcknowledged are about the packets themselves.

var placeable = define(rule.Rule{
	ID: "FASR-PLC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Every WRITE packet carries its remote address, and every SEND packet the number of its receive and its offset",
	Source: rule.Source{Ref: "FASR IV-D", Requirement: "All SEND packets carry the 3 bytes size send message sequence number (MSN) and 3 bytes for the " +
		"payload offset [...]. All WRITE packets carry their target remote memory address, which costs 8 bytes."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "messages of several packets",
	New: func(c *rule.Context) rule.Check {
		p := places{c: c}
		return rule.Check{Sight: p.sight}
	},
})

// places follows where the packets of the current message belong.
type places struct {
	c      *rule.Context
	inside bool
	va     uint64
	sn     uint32
	offset uint32
	known  bool // a message that took a receive was seen: its number is the last
	number uint32
}

func (p *places) sight(s *rule.Sight) {
	pkt := s.Pkt
	o := pkt.Opcode
	if s.Relation != rule.First || !o.IsSend() && !o.IsWrite() || s.Defect() != "" {
		return
	}
	if o.Class() != roce.ClassF {
		p.c.Failf(rule.Requester, "%v has no room for its place", o)
		return
	}
	if o.StartsMessage() {
		p.inside, p.va, p.offset, p.sn = true, pkt.RETH.VA, 0, pkt.SO.SN
	}
	if !p.inside {
		return
	}
	l := o.Layout()
	if !o.StartsMessage() {
		p.c.Met()
	}
	switch {
	case l&roce.LayoutVAETH != 0 && pkt.RETH.VA != p.va+uint64(p.offset):
		p.c.Failf(rule.Requester, "%s says that it belongs at %#x, which is %#x", p.c.Rel(pkt.PSN), pkt.RETH.VA, p.va+uint64(p.offset))
	case l&roce.LayoutSOETH != 0 && pkt.SO.Offset != p.offset:
		p.c.Failf(rule.Requester, "%s says that its offset is %d, which is %d", p.c.Rel(pkt.PSN), pkt.SO.Offset, p.offset)
	case o.IsSend() && pkt.SO.SN != p.sn:
		p.c.Failf(rule.Requester, "%s has number %d in message %d", p.c.Rel(pkt.PSN), pkt.SO.SN, p.sn)
	}
	p.offset += uint32(pkt.Len)
	if o.EndsMessage() && l&roce.LayoutSOETH != 0 {
		p.numbered(pkt)
	}
}

// numbered wants the messages that take a receive to be numbered without a gap.
func (p *places) numbered(pkt *roce.Packet) {
	if p.known && pkt.SO.SN != (p.number+1)&psn.Mask {
		p.c.Failf(rule.Requester, "%s has number %d behind number %d", p.c.Rel(pkt.PSN), pkt.SO.SN, p.number)
	}
	p.known, p.number = true, pkt.SO.SN
}

var readAcknowledged = define(rule.Rule{
	ID: "FASR-RD-001", Level: rule.Must,
	Title: "READ requests are acknowledged, and one that is not is sent again on timeout",
	Source: rule.Source{Ref: "FASR IV-D, IV-B", Requirement: "For READ, an acknowledgment mechanism is introduced to the READ requests [...]. If an RD " +
		"request times out, it will be resubmitted."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.Requests | rule.Responses, Stimulus: "READs, and a lost READ request",
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: newRequests(c).sight}
	},
})

// requests follows one READ request at a time, from its arrival to its acknowledgement, or from its loss to its repetition.
type requests struct {
	c     *rule.Context
	ack   *rule.Obligation // of one that has arrived
	again *rule.Obligation // to send one that was lost
}

func newRequests(c *rule.Context) *requests {
	q := &requests{c: c, ack: c.Owes(rule.Responder, "the READ request %s is not acknowledged"),
		again: c.Owes(rule.Requester, "the READ request %s is lost and not sent again")}
	q.again.Within = rule.TimerSlow * c.Attr.TransportTimer()
	q.again.Unless = func(rule.Debt) bool { return c.Attr.TransportTimer() == 0 }
	return q
}

func (q *requests) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point == trace.ResponderIn && p.Opcode == roce.FReadRequest && s.Due() && s.Legal && !q.ack.Owed():
		q.ack.Arise(s, p.PSN)
	case s.Point == trace.RequesterOut && p.Opcode == roce.FReadRequest && s.Relation == rule.First && s.Rec.Lost() && !q.again.Owed():
		q.again.Arise(s, p.PSN)
	case s.Point == trace.RequesterOut:
		q.again.Discharge(func(d rule.Debt) bool { return d.PSN == p.PSN })
	case s.Point == trace.ResponderOut && p.Opcode == roce.Acknowledge:
		last, ok := rule.Acknowledged(p)
		q.ack.Discharge(func(d rule.Debt) bool { return ok && d.PSN.LessEq(last) || q.c.Fatal })
	}
}
