package lowar

import (
	"bytes"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// sendsRequests are the sights that the encoder of requests needs.
const sendsRequests = rule.RequestOut | rule.RepairOut

// encodes makes the check of a rule about the encoder of requests; set installs the rule's hooks.
func encodes(set func(c *rule.Context, st *stream)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		st := newStream(c, false)
		set(c, st)
		return st.check()
	}
}

// encoder defines a rule about repair packets of requests.
func encoder(id, title, ref, requirement, stimulus string, set func(c *rule.Context, st *stream)) rule.Rule {
	return define(rule.Rule{ID: id, Title: title, Source: rule.Source{Ref: ref, Requirement: requirement},
		Stimulus: stimulus,
		Needs:    rule.TapRequester | rule.Attributes, Sees: sendsRequests, New: encodes(set)})
}

var blockEnds = encoder("LOWAR-ENC-001", "Repair packets follow the r-th packet of a block or the end of its message, "+
	"whichever comes first", "LOWAR IV-B2", "If a packet ends its corresponding message or coding block, all "+
	"encoded coding units of this coding block are then encapsulated and sent as repair packets.",
	"messages of 1, 5 and 61 packets at (8, 2): 1, 2 and 16 repair packets", func(c *rule.Context, st *stream) {
		st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
			if b.complete() {
				c.Met()
			} else if h.Base == b.base {
				c.Failf(rule.Requester, "follows packet %d of the block at %s; packet %d, or the end of the "+
					"message, expected first", b.n, c.Rel(b.base), b.r)
			}
		}
		st.short = func(b *block) {
			if b.repairs == 0 {
				c.FailAt(b.at, b.index, rule.Requester,
					fmt.Sprintf("ends the block at %s: got none of %d repair packets", c.Rel(b.base), b.want()))
			}
		}
	})

var repairCount = encoder("LOWAR-ENC-002",
	"A block of N packets has min(c, N) repair packets, one after the other, with ISN from 0 on",
	"LOWAR IV-B1", "For LoWAR(r, c), r denotes the size of the coding block and c stands for the interleaving depth. "+
		"[...] ISN orders repair packets within the same coding block.", "messages of every length",
	func(c *rule.Context, st *stream) {
		st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
			switch {
			case !b.complete() || h.Base != b.base:
			case b.repairs >= b.want():
				c.Failf(rule.Requester, "is repair packet %d of the block at %s, want %d at most", b.repairs+1,
					c.Rel(b.base), b.want())
			case int(h.ISN) != b.repairs:
				c.Failf(rule.Requester, "ISN %d, want %d: the next of the block at %s", h.ISN, b.repairs, c.Rel(b.base))
			case b.repairs == b.want()-1:
				c.Met()
			}
		}
		st.short = func(b *block) {
			if b.repairs > 0 {
				c.FailAt(b.at, b.index, rule.Requester, fmt.Sprintf(
					"ends the block at %s: got %d of %d repair packets", c.Rel(b.base), b.repairs, b.want()))
			}
		}
	})

func xorPayload() rule.Rule {
	r := encoder("LOWAR-ENC-003",
		"The payload of the repair packet with ISN u is the XOR of the packets at places u, u+c, u+2c of the block",
		"LOWAR IV-B1", "LoWAR performs XOR operations on these packets with an interval of interleaving depth (2 here), "+
			"encoding data packets (e.g., data packets 1, 3) to corresponding repair packet (i.e., repair packet B).",
		"messages of every length",
		func(c *rule.Context, st *stream) {
			st.sums = true
			st.repair = func(s *rule.Sight, h *roce.Repair, b *block) {
				if !b.complete() || h.Base != b.base || int(h.ISN) >= len(b.units) || b.cut ||
					len(s.Raw) == 0 {
					return
				}
				c.Met()
				switch at := unequal(b.units[h.ISN], s.Pkt.Payload); {
				case at < 0 && h.Check != b.checks[h.ISN]:
					c.Failf(rule.Requester, "check %#x, want %#x for unit %d of the block at %s", h.Check,
						b.checks[h.ISN], h.ISN, c.Rel(b.base))
				case at >= 0:
					c.Failf(rule.Requester, "byte %d of the payload differs from the XOR of unit "+
						"%d of the block at %s", at, h.ISN, c.Rel(b.base))
				}
			}
		})
	r.Needs |= rule.Bytes
	return r
}

// unequal returns the first place where two units differ, the shorter padded with zeros; -1 when they are equal.
func unequal(a, b []byte) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	at := differs(a[:len(b)], b)
	if at < 0 && len(bytes.Trim(a[len(b):], "\x00")) > 0 {
		return len(b)
	}
	return at
}

func oneMessage() rule.Rule {
	r := encoder("LOWAR-ENC-004",
		"No block holds packets of two messages",
		"LOWAR III", "Each new message should initiate its own encoding and decoding cycle.",
		"messages of every length, back to back",
		func(c *rule.Context, st *stream) {
			st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
				if !st.inMessage || h.Responses {
					return
				}
				if b.n > 0 && b.first && b.base == st.begun {
					c.Met()
				}
				if h.Base.Less(st.begun) && st.begun.Less(h.Base.Add(int(h.N))) {
					c.Failf(rule.Requester, "codes %d packets from %s on; the end of its block expected before %s, "+
						"where another message begins", h.N, c.Rel(h.Base), c.Request(st.begun))
				}
			}
		})
	r.Level = rule.MustNot
	return r
}

func duplicate() rule.Rule {
	r := encoder("LOWAR-ENC-005",
		"The repair packet of a message of one packet is that packet",
		"LOWAR IV-B1", "This duplication is essentially XOR operations with zero.", "messages of one packet",
		func(c *rule.Context, st *stream) {
			last := []byte(nil)
			st.data = func(s *rule.Sight, b *block) {
				if last = last[:0]; b.n == 1 && b.first && b.last {
					last = append(last, shim.CodedBytes(s.Raw)...)
				}
			}
			st.repair = func(s *rule.Sight, _ *roce.Repair, b *block) {
				if b.n != 1 || !b.first || !b.last || b.cut || len(s.Raw) == 0 {
					return
				}
				c.Met()
				if !bytes.Equal(last, s.Pkt.Payload) {
					c.Failf(rule.Requester, "the bytes differ from %s, all of its message; a duplicate expected", c.Request(b.base))
				}
			}
		})
	r.Needs |= rule.Bytes
	return r
}

var edges = encoder("LOWAR-ENC-006",
	"has_First and has_Last tell whether the block holds the ends of its message, and Last_Length is the length of "+
		"its last packet",
	"LOWAR IV-C", "When coding blocks contain the first, last, or only packet of a message, the sender should send "+
		"extra metadata to keep the decoding accurate.",
	"messages of every length", func(c *rule.Context, st *stream) {
		st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
			if !b.complete() || h.Base != b.base {
				return
			}
			c.Met()
			switch {
			case h.HasFirst != b.first:
				c.Failf(rule.Requester, "has_First is %v, want %v: the block begins with %s", h.HasFirst, b.first,
					c.Request(b.base))
			case h.HasLast != b.last:
				c.Failf(rule.Requester, "has_Last is %v, want %v: the block ends with %s", h.HasLast, b.last,
					c.Request(b.end().Prev()))
			case int(h.LastLen) != b.lastLen:
				c.Failf(rule.Requester, "Last_Length is %d, want %d: the block ends with %s", h.LastLen, b.lastLen,
					c.Request(b.end().Prev()))
			}
		}
	})

var basePSN = encoder("LOWAR-ENC-007",
	"bPSN is the PSN of the first packet of the block, and N the number of its packets",
	"LOWAR IV-B1", "The bPSN is the PSN of the first packet in a coding block to specify which coding block a "+
		"repair packet belongs to.",
	"blocks across the wrap of the PSN",
	func(c *rule.Context, st *stream) {
		st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
			if !b.complete() || b.repairs >= b.want() {
				return
			}
			c.Met()
			if h.Base != b.base || int(h.N) != b.n {
				c.Failf(rule.Requester, "bPSN %s and N %d, want %s and %d", c.Rel(h.Base), h.N, c.Rel(b.base), b.n)
			}
		}
	})

var noPSN = encoder("LOWAR-ENC-008",
	"Repair packets take no PSN: the data packet behind them has the next one",
	"LOWAR IV-C", "The repair packet substitutes the RDMA transport header and payload with the Repair Header "+
		"and redundant payload.",
	"a run without loss",
	func(c *rule.Context, st *stream) {
		st.data = func(s *rule.Sight, b *block) {
			if s.Relation != rule.First || b.n != 1 || st.behind == 0 {
				return
			}
			c.Met()
			if s.Pkt.PSN != c.MAX {
				c.Failf(rule.Requester, "follows %d repair packets, which take no PSN; %s expected", st.behind, c.Rel(c.MAX))
			}
		}
	})
