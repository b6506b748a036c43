package fasr

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// snapshot is the reported state of one end of the QP after one input.
type snapshot struct {
	at vtime.Time

	// The receiver of requests ("rcv_").
	next, high                            psn.PSN
	path, lost, over, compression, blocks int64
	recorded, fallback                    int64

	sndLost int64            // lost-cnt of the sender
	paths   [4]int64         // path of the four places of a QP: snd_, rcv_, rd_, rd_snd_
	unit    int64            // SR state pointer; 0 is null
	pool    map[string]int64 // by variable
}

// The values of path.
const (
	normal = iota
	fast
	slow
)

// order is the order in which an engine reports its variables.
var order = []string{"snd_path", "snd_lost_cnt", "rd_path", "sr_unit", "rcv_nxt", "rcv_path",
	"rcv_sack_high", "rcv_lost_cnt",
	"rcv_overflow", "rcv_compression_cnt", "rcv_blocks", "rcv_recorded", "rcv_fallback", "rd_snd_path", "pool_units",
	"pool_exhausted", "pool_bits"}

// watch makes a check that is called for every change of state at the responder.
func watch(step func(c *rule.Context, prev, cur *snapshot)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		w := newReports(c, false, func(prev, cur *snapshot) { step(c, prev, cur) })
		return rule.Check{Event: w.Event, End: w.End}
	}
}

// newReports calls step for every change of state at the requester if mine is set, otherwise at the responder.
func newReports(c *rule.Context, mine bool, step func(prev, cur *snapshot)) *selective.Reports[snapshot] {
	w := selective.NewReports(c, mine, snapshot{next: c.Start, pool: map[string]int64{}})
	w.Order, w.Set, w.Step = order, (*snapshot).set, step
	return w
}

// set sets one variable.
func (s *snapshot) set(e *trace.Event) {
	name, v := e.Name, e.Value
	s.at = e.At
	fields := map[string]*int64{
		"rcv_path": &s.path, "rcv_lost_cnt": &s.lost, "rcv_overflow": &s.over, "rcv_compression_cnt": &s.compression,
		"rcv_blocks": &s.blocks, "rcv_recorded": &s.recorded, "rcv_fallback": &s.fallback, "snd_lost_cnt": &s.sndLost,
		"sr_unit": &s.unit,
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

// fail reports a violation that the reports show at their latest time.
func fail(c *rule.Context, s *snapshot, who rule.Blame, text string) {
	c.FailAt(s.at, rule.NoRecord, who, text)
}

// responderState is the vantage of rules about the receiver's variables.
const responderState = rule.Probes | rule.Attributes

// state defines a rule about the receiver's variables.
func state(id, title, ref, requirement, stimulus string, step func(c *rule.Context, prev, cur *snapshot)) rule.Rule {
	return define(rule.Rule{ID: id, Level: rule.Must, Title: title, Source: rule.Source{Ref: ref,
		Requirement: requirement},
		Needs: responderState, Rests: validity.Sequence, Stimulus: stimulus, New: watch(step)})
}

var nothingWithoutLoss = define(rule.Rule{
	ID: "FASR-NRM-001", Level: rule.Must,
	Title: "Without loss no SR state unit and no bitmap block is allocated",
	Source: rule.Source{Ref: "FASR III-C1",
		Requirement: "When there is no packet loss in the QP, this pointer is set to null."},
	Needs: rule.TapResponder | responderState, Sees: rule.RequestIn, Stimulus: "a run without loss",
	New: func(c *rule.Context) rule.Check {
		early, arrived := false, false
		w := newReports(c, false, func(_, cur *snapshot) {
			switch {
			case early:
			case cur.path != normal || cur.blocks != 0:
				fail(c, cur, rule.Responder, "SR state is held although every packet arrived in order")
			case arrived:
				c.Met()
			}
		})
		return rule.Check{Event: w.Event, End: w.End, Sight: func(s *rule.Sight) {
			arrived = arrived || s.Relation == rule.InOrder
			early = early || s.Relation == rule.Ahead
		}}
	},
})

var fillCounts = state("FASR-LC-003", "A retransmission that is accepted on the slow path takes one off lost-cnt",
	"FASR III-B1", "lost-cnt [...] will decrease after receiving the retransmitted data packet.",
	"three lost packets in a row",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != slow || cur.path == normal || prev.over != 0 || !prev.next.Less(cur.next) ||
			cur.high != prev.high {
			return
		}
		c.Met()
		if cur.lost != prev.lost-1 {
			fail(c, cur, rule.Responder, "RCV-NXT is filled, but lost-cnt does not decrease by one")
		}
	})

var overflowFreezes = state("FASR-LC-005", "lost-cnt stays within three bits; beyond, it overflows, and does not "+
	"change until the recovery is over", "FASR III-D",
	"Once the receiver's lost-cnt overflows, it remains unchanged until the packet loss recovery is completed.",
	"nine lost packets in a row", func(c *rule.Context, prev, cur *snapshot) {
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

var fastHoldsNoBlock = state("FASR-FAST-001",
	"With a lost-cnt of 1 no bitmap block is held: packets out of order move sack-high alone", "FASR III-B1",
	"When lost-cnt equals 1, only RCV-NXT is lost and fast path is selected. Only sack-high will be updated if FaSR "+
		"receives an OoO packet.", "one lost packet", func(c *rule.Context, prev, cur *snapshot) {
		if cur.path == normal || cur.lost != 1 || cur.over != 0 {
			return
		}
		c.Met()
		if cur.blocks != 0 || cur.path != fast {
			fail(c, cur, rule.Responder, "a bitmap is held with a lost-cnt of 1")
		}
	})

var fastJumps = state("FASR-FAST-002",
	"On the fast path the retransmission takes RCV-NXT behind sack-high at once, and recovery is over", "FASR III-B1",
	"When a retransmission packet (PSN=RCV-NXT) is received, the loss-recovery state is exited, and RCV-NXT is "+
		"directly updated to sack-high + 1.", "one lost packet", func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != fast || prev.next == cur.next {
			return
		}
		c.Met()
		if cur.next != prev.high.Next() || cur.path != normal {
			fail(c, cur, rule.Responder, "RCV-NXT becomes "+c.Rel(cur.next)+"; sack-high was "+c.Rel(prev.high))
		}
	})

var slowEndsAtOne = state("FASR-SLOW-002",
	"The slow path ends exactly when lost-cnt is 1 again, and all blocks are released then", "FASR III-B1",
	"Once lost-cnt decreases to 1 again, FaSR switches from the slow path to the fast path, and the bitmap is "+
		"disabled.", "two lost packets in a row", func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != slow || prev.over != 0 || cur.path == normal {
			return
		}
		c.Met()
		if one := cur.lost == 1 && cur.over == 0; one != (cur.path == fast) || one && cur.blocks != 0 {
			fail(c, cur, rule.Responder, "lost-cnt and path contradict each other, or blocks are kept")
		}
	})

var compression = state("FASR-SLOW-003", "From fast to slow, an offset of a block or more becomes the "+
	"compression-cnt; a shorter one makes it zero", "FASR III-D", "If the offset between RCV-NXT and sack-high is "+
	"less than the size of one bitmap block when transitioning to the slow path, the compression-cnt is set to zero.",
	"two losses, and fewer or more packets than a block between them", func(c *rule.Context, prev, cur *snapshot) {
		if prev.path != fast || cur.path != slow {
			return
		}
		c.Met()
		want := int64(prev.high.Sub(prev.next))
		if want < int64(parameter(c, "block_bits", 10)) {
			want = 0
		}
		if cur.compression != min(want, 1023) {
			fail(c, cur, rule.Responder, "the compression-cnt is neither the old offset nor zero below a block")
		}
	})

var blocksFollow = state("FASR-SLOW-004", "Blocks are taken at the tail as the list grows, and freed at the head as "+
	"soon as they are passed", "FASR III-C2",
	"When a retransmitted packet is received, the bitmap block is released from the head of the linked list.",
	"a long burst of lost packets", func(c *rule.Context, prev, cur *snapshot) {
		if cur.path != slow {
			return
		}
		bits := int64(parameter(c, "block_bits", 10))
		n := cur.recorded - cur.compression
		// n bits that begin anywhere in a block occupy least to most blocks.
		least, most := (n+bits-1)/bits, (n+2*bits-2)/bits
		if cur.blocks < prev.blocks {
			c.Met()
		}
		if cur.blocks < least || cur.blocks > most {
			fail(c, cur, rule.Responder, "the blocks do not match the packets between RCV-NXT and sack-high")
		}
		if cur.recorded != int64(cur.high.Sub(cur.next)) {
			fail(c, cur, rule.Responder, "the bitmap does not reach from RCV-NXT to sack-high")
		}
	})
