package ctr

import (
	"bytes"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

func anyPacket(s *rule.Sight) bool { return !s.Pkt.Opcode.OverIP() }
func isCNP(s *rule.Sight) bool     { return s.Pkt.Opcode == roce.CNP }

func isSequenceNAK(code roce.Syndrome) bool { return code == roce.SyndromePSNSeqErr }

// sent counts the packets that leave the device.
func sent(is func(*rule.Sight) bool) func(*rule.Sight) span {
	return func(s *rule.Sight) span {
		if s.Out && is(s) {
			return surely
		}
		return never
	}
}

// received counts the packets that reach the device.
func received(is func(*rule.Sight) bool) func(*rule.Sight) span {
	return func(s *rule.Sight) span {
		if !s.Out && is(s) {
			return surely
		}
		return never
	}
}

// frames counts the frames of any kind that pass the port in one direction.
func frames(out bool) func(*rule.Sight) span {
	return func(s *rule.Sight) span {
		if s.Out == out {
			return surely
		}
		return never
	}
}

// around is the size in bytes of FCS, preamble and gap on the wire. shortest is the size of the shortest frame;
// WireBytes of all shorter ones is the same.
const (
	around   = 24
	shortest = 60
)

// octets counts the bytes of the frames in one direction.
func octets(out bool) func(*rule.Sight) span {
	return func(s *rule.Sight) span {
		n := int64(s.Rec.WireBytes - around)
		switch {
		case s.Out != out:
			return never
		case len(s.Raw) > 0:
			n = int64(len(s.Raw))
		case n <= shortest:
			return span{headers + 16, shortest}
		}
		return span{n, n}
	}
}

// duplicates counts requests that were executed before: certainly those that the device had acknowledged. It may not
// have looked yet at one that only arrived before, and refuse it with an RNR NAK. For a repeated READ or atomic, and
// while a request waits for a receive, only the device knows whether it was executed; injected packets may be outside
// any window.
func duplicates() func(*rule.Sight) span {
	acknowledged := map[*rule.Conversation]psn.PSN{} // PSN after the newest request acknowledged
	return func(s *rule.Sight) span {
		if last, ok := rule.Acknowledged(s.Pkt); ok && s.Point == trace.ResponderOut {
			if before, known := acknowledged[s.Of]; !known || before.Less(last.Next()) {
				acknowledged[s.Of] = last.Next()
			}
		}
		before, known := acknowledged[s.Of]
		switch {
		case s.Point != trace.ResponderIn || s.Relation != rule.Duplicate:
			return never
		case s.Of.RNRWait, s.Pkt.Opcode.IsRead(), s.Pkt.Opcode.IsAtomic(), s.Rec.Fate == trace.Injected,
			!known || !s.Pkt.PSN.Less(before):
			return perhaps
		}
		return surely
	}
}

// outOfSequence counts requests beyond the expected PSN, and perhaps responses beyond a READ's.
func outOfSequence(s *rule.Sight) span {
	switch {
	case s.Point == trace.RequesterIn && beyondRead(s):
		return perhaps
	case s.Point != trace.ResponderIn || s.Relation != rule.Ahead:
		return never
	case s.Of.RNRWait, s.Rec.Fate == trace.Injected:
		return perhaps
	}
	return surely
}

// sequenceErrors counts the NAKs that a gap draws, and perhaps the requests that draw them.
func sequenceErrors(s *rule.Sight) span {
	switch {
	case s.Point == trace.ResponderOut && s.Pkt.Opcode == roce.Acknowledge && isSequenceNAK(s.Pkt.AETH.Syndrome):
		return surely
	case s.Point == trace.ResponderIn && s.Relation == rule.Ahead:
		return perhaps
	}
	return never
}

// answers counts the acknowledgements of a kind that the device sends.
func answers(is func(roce.Syndrome) bool) func(*rule.Sight) span {
	return sent(func(s *rule.Sight) bool { return s.Pkt.Opcode == roce.Acknowledge && is(s.Pkt.AETH.Syndrome) })
}

// answered counts the acknowledgements of a kind that the device receives. One for no request in flight may be ignored.
func answered(is func(roce.Syndrome) bool) func(*rule.Sight) span {
	return func(s *rule.Sight) span {
		switch p := s.Pkt; {
		case s.Out || p.Opcode != roce.Acknowledge || !is(p.AETH.Syndrome):
			return never
		case !p.PSN.In(s.Of.UNA, s.Of.MAX):
			return perhaps
		}
		return surely
	}
}

// lackingReceive counts RNR NAKs sent, and perhaps datagrams received, for which no receive may be posted.
func lackingReceive(s *rule.Sight) span {
	if !s.Out && s.Pkt.Opcode.Class() == roce.ClassUD {
		return perhaps
	}
	return answers(roce.Syndrome.IsRNR)(s)
}

// headers is the size in bytes of the headers before the transport's.
const headers = 14 + 20 + 8

// damaged counts frames with a wrong ICRC. A frame with damaged lower headers, or one that does not decode, may be
// dropped before the ICRC check.
func damaged(s *rule.Sight) span {
	switch {
	case s.Out || s.ICRC != trace.Bad:
		return never
	case s.Defect() != "" || len(s.Raw) < headers || len(s.Rec.Raw) < headers ||
		!bytes.Equal(s.Raw[:headers], s.Rec.Raw[:headers]):
		return perhaps
	}
	return surely
}

// beyondRead reports whether a response is beyond the one that the oldest READ waits for.
func beyondRead(s *rule.Sight) bool {
	_, next, _, ok := s.Of.OldestRead()
	return ok && next.Less(s.Pkt.PSN) && s.Pkt.PSN.Less(s.Of.MAX)
}

// impliedNAKs counts responses beyond the one that a READ waits for: the first for each gap, and perhaps later ones.
func impliedNAKs() func(*rule.Sight) span {
	type gap struct {
		of   *rule.Conversation
		next uint32
	}
	seen := map[gap]bool{}
	return func(s *rule.Sight) span {
		if s.Point != trace.RequesterIn || !beyondRead(s) {
			return never
		}
		_, next, _, _ := s.Of.OldestRead()
		g := gap{s.Of, uint32(next)}
		positive := s.Pkt.Opcode != roce.Acknowledge || s.Pkt.AETH.Syndrome.IsACK()
		if seen[g] || !positive || s.Rec.Fate == trace.Injected {
			return perhaps
		}
		seen[g] = len(seen) < gapLimit
		return surely
	}
}

// gapLimit bounds the gaps remembered.
const gapLimit = 1 << 16

// gaveUp counts the queue pairs of the device with a completion of this status, and perhaps those with unanswered
// requests and no such completion.
func gaveUp(status engine.Status) func(*ledger) span {
	return func(l *ledger) (n span) {
		for _, f := range l.flows {
			switch open := f.asks != nil && f.asks.UNA != f.asks.MAX; {
			case f.gaveUp[status]:
				n.low, n.high = n.low+1, n.high+1
			case open && len(f.gaveUp) == 0:
				n.high++
			}
		}
		return n
	}
}
