package neg

import (
	"bytes"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// unknownQP finds its stimulus in two places: addresses may still tell which connection was meant; otherwise the packet
// is in the conversation of what belongs to none.
var unknownQP = rule.Rule{
	ID: "NEG-QPN-001", Level: rule.Must,
	Title: "A packet for an unknown QP, for QP 0, or for one that does not receive yet is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1", Requirement: "A packet whose destination queue pair does not exist or is not " +
		"in a state to receive is discarded"},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign, Wakes: rule.Odd, Dozes: true,
	Stimulus: "a packet for an unknown QP, QP 0, or one that does not receive yet", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		if c.Index < 0 {
			return strangers(c)
		}
		return silently("packet for another QP number", func(c *rule.Context, s *rule.Sight) bool {
			return s.Intact() && c.PeerAttr.QPN != 0 && s.Pkt.DestQP != c.PeerAttr.QPN
		})(c)
	},
}

// strangers judges packets with an unknown QP number, which belong to no connection: an acknowledgement of no
// connection must not follow such a request.
func strangers(c *rule.Context) rule.Check {
	var asked [2]bool // by the side that received such a request
	return rule.Check{Sight: func(s *rule.Sight) {
		o := s.Pkt.Opcode
		switch {
		case !s.Intact() || !rule.OfConnection(o):
		case !s.Out && o.IsRequest():
			c.Met()
			asked[s.Tap&1] = true
		case s.Out && o.IsResponse() && asked[s.Tap&1]:
			c.Failf(rule.Responder, "%v answers a packet for an unknown QP; silence expected", o)
			asked[s.Tap&1] = false
		}
	}}
}

var wrongSource = rule.Rule{
	ID: "NEG-QPN-002", Level: rule.Must,
	Title: "A packet whose source address is not that of the QP's peer is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1, soft-RoCE",
		Requirement: "A connected queue pair accepts packets from the address of its peer alone"},
	Needs: rule.TapResponder | rule.Bytes, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Wakes: rule.Odd, Dozes: true,
	Stimulus: "a packet from another address", BlackBox: "RXE,ENG",
	New: func(c *rule.Context) rule.Check {
		peer := rule.PeerAddress(c) // otherwise learnt from the first request that the harness did not make
		check := silently("packet from another address", func(_ *rule.Context, s *rule.Sight) bool {
			src := source(s.Raw)
			if src == nil || !s.Intact() {
				return false
			}
			if peer == nil && s.Rec.Fate != trace.Injected && s.Rec.Changed == nil {
				peer = bytes.Clone(src)
			}
			return peer != nil && !bytes.Equal(src, peer)
		})(c)
		wake := check.Wake
		check.Wake = func() { wake(); peer = rule.PeerAddress(c) }
		return check
	},
}

// source returns the source address in a frame; nil when the frame is not IP.
func source(raw []byte) []byte {
	if ip, udp, ok := rule.Network(raw); ok && udp == 40 {
		return ip[8:24]
	} else if ok {
		return ip[12:16]
	}
	return nil
}

var wrongPartition = rule.Rule{
	ID: "NEG-PKEY-001", Level: rule.Must,
	Title: "A packet whose P_Key does not match is dropped silently, and the violation counter advances",
	Source: rule.Source{Ref: "IBTA 10.9.3", Requirement: "A packet whose P_Key does not match that of the queue pair is " +
		"discarded and counted as a P_Key violation"},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Odd, Dozes: true,
	Stimulus: "a packet with a foreign P_Key", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		return (&silence{c: c, what: "request with a foreign P_Key", counter: "pkey",
			bad: func(c *rule.Context, s *rule.Sight) bool {
				return s.Intact() && s.Pkt.TVer == 0 && s.Pkt.DestQP == c.PeerAttr.QPN &&
					!rule.SamePartition(s.Pkt.PKey, c.PeerAttr.PKey)
			}}).check()
	},
}

// wrongQKey cannot wait for a response, since UD has none: it counts deliveries against good datagrams.
var wrongQKey = rule.Rule{
	ID: "NEG-QKEY-001", Level: rule.Must,
	Title: "A datagram whose Q_Key does not match is dropped silently, and the violation counter advances",
	Source: rule.Source{Ref: "IBTA 10.2.5", Requirement: "A datagram whose Q_Key is not that of the destination queue " +
		"pair is discarded and counted as a Q_Key violation"},
	Needs: rule.TapResponder | rule.Datagrams, Sees: rule.Foreign, Features: []string{"ud"},
	Stimulus: "a datagram with a wrong Q_Key", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		g := datagrams{c: c, qkey: -1}
		return rule.Check{Sight: g.sight, Event: g.event, End: g.end}
	},
}

// datagrams counts the deliveries of a UD QP against the good datagrams that it received.
type datagrams struct {
	c       *rule.Context
	qkey    int64 // Q_Key of the QP, as it reports; -1 when unknown
	earned  int   // good datagrams not delivered yet
	bad     int64 // datagrams with a wrong Q_Key
	counted int64 // latest value of the counter qkey
}

func (g *datagrams) sight(s *rule.Sight) {
	if s.Out || g.c.Index < 0 || g.qkey < 0 || !s.Intact() || s.Pkt.Opcode.Class() != roce.ClassUD {
		return
	}
	if int64(s.Pkt.DETH.QKey) == g.qkey {
		g.earned++
		return
	}
	g.c.Met()
	g.bad++
}

func (g *datagrams) event(e *trace.Event) {
	switch {
	case g.c.Mine(e):
	case e.Kind == trace.Probe && e.Name == "qkey":
		g.qkey = e.Value
	case e.Kind == trace.Count && e.Name == "qkey":
		g.counted = e.Value
	case e.Kind == trace.Recv:
		g.earned--
		if g.earned < 0 && g.bad > 0 {
			g.earned = 0
			g.c.Fail(rule.Responder, "a datagram with a wrong Q_Key is delivered; silence expected")
		}
	}
}

func (g *datagrams) end(vtime.Time) {
	if g.counted < g.bad {
		g.c.Failf(rule.Responder, "%d datagrams with a wrong Q_Key arrived, counter qkey is %d", g.bad, g.counted)
	}
}
