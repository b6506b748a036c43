package rule

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const testStart = psn.PSN(psn.Mask - 2) // so that every test of this file crosses the wrap

// walk is a conversation under test, moved by single packets at its points.
type walk struct {
	t   *testing.T
	c   Conversation
	s   Sight
	rec trace.Record
	now vtime.Time
}

func newWalk(t *testing.T, known bool) *walk {
	var conn trace.Conn
	for i := range conn.Ends {
		conn.Ends[i].Known = known
		conn.Ends[i].QP = engine.QP{MTU: 1024, SendPSN: testStart, RecvPSN: testStart}
	}
	w := &walk{t: t}
	w.c.reset(0, trace.A, &conn, &[2]Port{})
	return w
}

// see processes one packet, with its PSN relative to the start, and returns its sight.
func (w *walk) see(point trace.Point, op roce.Opcode, rel, size int, change ...func(*roce.Packet)) *Sight {
	w.now = w.now.Add(vtime.Microsecond)
	w.rec = trace.Record{ICRC: trace.Good}
	p := &w.rec.Packet
	p.Opcode, p.PSN, p.Len = op, testStart.Add(rel), size
	for _, f := range change {
		f(p)
	}
	w.s.Sight = trace.Sight{At: w.now, Rec: &w.rec, Pkt: p, ICRC: trace.Good, Out: point&1 == 0}
	w.s.Point = point
	w.c.observe(&w.s)
	w.c.update(&w.s)
	return &w.s
}

func ack(s roce.Syndrome) func(*roce.Packet) { return func(p *roce.Packet) { p.AETH.Syndrome = s } }
func dmaLen(n uint32) func(*roce.Packet)     { return func(p *roce.Packet) { p.RETH.DMALen = n } }
func (w *walk) want(what string, got, x any) {
	w.t.Helper()
	if got != x {
		w.t.Errorf("%s = %v, want %v", what, got, x)
	}
}

func TestRequesterSide(t *testing.T) {
	w := newWalk(t, true)
	w.see(trace.RequesterOut, roce.WriteFirst, 0, 1024, dmaLen(2500), func(p *roce.Packet) { p.RETH.VA = 0x1000 })
	w.see(trace.RequesterOut, roce.WriteMiddle, 1, 1024)
	s := w.see(trace.RequesterOut, roce.WriteLast, 2, 452)
	w.want("offset of LAST", s.Offset, 2)
	w.want("message of LAST", s.Message, 0)
	s = w.see(trace.RequesterOut, roce.SendOnly, 3, 10)
	w.want("message of the SEND", s.Message, 1)
	w.want("MAX", w.c.MAX, testStart.Add(4))
	w.see(trace.RequesterIn, roce.Acknowledge, 0, 0, ack(roce.SyndromeACK))
	w.want("UNA after ACK +0", w.c.UNA, testStart.Add(1))
	w.see(trace.RequesterIn, roce.Acknowledge, 2, 0, ack(roce.SyndromePSNSeqErr))
	w.want("UNA after NAK +2", w.c.UNA, testStart.Add(2))
	s = w.see(trace.RequesterOut, roce.WriteLast, 2, 452)
	w.want("relation of the retransmission", s.Relation, Again)
	w.want("offset of the retransmission", s.Offset, 2)
	w.want("VA of the retransmission", s.Sent.VA, uint64(0x1000+2048))
	w.want("transmissions", int(w.c.Sent(testStart.Add(2)).Times), 2)
	w.see(trace.RequesterIn, roce.Acknowledge, 9, 0, ack(roce.SyndromeACK))
	w.want("UNA after a ghost ACK", w.c.UNA, testStart.Add(2))
	w.see(trace.RequesterIn, roce.Acknowledge, 3, 0, ack(roce.SyndromeRemoteAccess))
	w.want("failed", w.c.Failed, true)
}

func TestReadIsCompletedByDataOnly(t *testing.T) {
	w := newWalk(t, true)
	w.see(trace.RequesterOut, roce.SendOnly, 0, 1)
	w.see(trace.RequesterOut, roce.ReadRequest, 1, 0, dmaLen(3000))
	w.want("MAX after a READ of 3 packets", w.c.MAX, testStart.Add(4))
	w.see(trace.RequesterOut, roce.SendOnly, 4, 1)
	w.see(trace.RequesterIn, roce.Acknowledge, 4, 0, ack(roce.SyndromeACK))
	w.want("UNA stops at the READ", w.c.UNA, testStart.Add(1))
	w.see(trace.RequesterIn, roce.ReadRespFirst, 1, 1024)
	w.see(trace.RequesterIn, roce.ReadRespLast, 3, 952)
	w.want("UNA stops at the gap", w.c.UNA, testStart.Add(2))
	s := w.see(trace.RequesterOut, roce.ReadRequest, 2, 0, dmaLen(1976))
	w.want("relation of the repeated READ", s.Relation, Again)
	w.want("bytes left at its PSN", s.Sent.Len, 1976)
	w.see(trace.RequesterIn, roce.ReadRespFirst, 2, 1024)
	w.see(trace.RequesterIn, roce.ReadRespLast, 3, 952)
	w.want("outstanding READs", w.c.OutstandingReads(), 0)
	w.want("UNA after the data", w.c.UNA, testStart.Add(4))
}

// Where no packet shows the MTU, a READ of no more than one packet has carried is one packet: the request behind it is
// not in order when the one between is missing.
func TestReadOfOnePacketWithoutMTU(t *testing.T) {
	var conn trace.Conn
	conn.Fits = 2048
	w := &walk{t: t}
	w.c.reset(0, trace.A, &conn, &[2]Port{})
	w.see(trace.ResponderIn, roce.ReadRequest, 0, 0, dmaLen(2048))
	w.want("relation", w.see(trace.ResponderIn, roce.SendOnly, 2, 8).Relation, Ahead)
	w.want("relation", w.see(trace.ResponderIn, roce.SendOnly, 1, 8).Relation, InOrder)
	w.see(trace.ResponderIn, roce.ReadRequest, 2, 0, dmaLen(4096))
	w.want("relation", w.see(trace.ResponderIn, roce.SendOnly, 5, 8).Relation, InOrder)
}

func TestResponderSide(t *testing.T) {
	w := newWalk(t, true)
	w.see(trace.ResponderIn, roce.SendFirst, 0, 1024)
	s := w.see(trace.ResponderIn, roce.SendLast, 2, 5)
	w.want("relation ahead", s.Relation, Ahead)
	w.want("gap", w.c.GapOpen, true)
	w.see(trace.ResponderOut, roce.Acknowledge, 1, 0, ack(roce.SyndromePSNSeqErr))
	w.want("NAKs in gap", int(w.c.NAKsInGap), 1)
	s = w.see(trace.ResponderIn, roce.SendMiddle, 1, 1024)
	w.want("legal", s.Legal, true)
	w.want("gap closed", w.c.GapOpen, false)
	w.see(trace.ResponderIn, roce.SendLast, 2, 5)
	w.want("MSN", w.c.MSN, psn.MSN(1))
	s = w.see(trace.ResponderIn, roce.SendFirst, 0, 1024)
	w.want("duplicate", s.Relation, Duplicate)
	w.see(trace.ResponderIn, roce.ReadRequest, 3, 0, dmaLen(4096))
	w.want("EPSN after a READ", w.c.EPSN, testStart.Add(7))
	w.want("MSN after a READ", w.c.MSN, psn.MSN(2))
}

func TestRNRTakesBackTheAcceptance(t *testing.T) {
	w := newWalk(t, true)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.see(trace.ResponderOut, roce.Acknowledge, 0, 0, ack(roce.SyndromeRNR+12))
	w.want("EPSN", w.c.EPSN, testStart)
	w.want("MSN", w.c.MSN, psn.MSN(0))
	w.want("waiting", w.c.RNRWait, true)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	w.want("waiting after the retry", w.c.RNRWait, false)
	w.want("EPSN after the retry", w.c.EPSN, testStart.Add(1))
}

// A responder may refuse late: everything accepted since is withdrawn, and a PSN that a response has passed needs no
// memory.
func TestRNRTakesBackLate(t *testing.T) {
	w := newWalk(t, true)
	for i := range 100 {
		w.see(trace.ResponderIn, roce.SendOnly, i, 5)
	}
	w.see(trace.ResponderOut, roce.Acknowledge, 1, 2, ack(roce.SyndromeACK))
	w.see(trace.ResponderOut, roce.Acknowledge, 2, 2, ack(roce.SyndromeRNR+12))
	w.want("EPSN", w.c.EPSN, testStart.Add(2))
	w.want("MSN", w.c.MSN, psn.MSN(2))
	w.want("waiting", w.c.RNRWait, true)
	s := w.see(trace.ResponderIn, roce.SendOnly, 2, 5)
	w.want("relation of the retry", s.Relation, InOrder)
	for i := 3; i < 10_000; i++ {
		w.see(trace.ResponderIn, roce.SendOnly, i, 5)
		w.see(trace.ResponderOut, roce.Acknowledge, i, i+1, ack(roce.SyndromeACK))
	}
	if n := len(w.c.responder.undo); n > 128 {
		t.Errorf("%d states are kept, of requests that have been answered", n)
	}
}

func TestIllegalRequests(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		op           roce.Opcode
		size         int
		dma          uint32
		inside       bool
	}{
		{"MIDDLE alone", FaultNoFirst, roce.SendMiddle, 1024, 0, false},
		{"FIRST inside", FaultInside, roce.SendFirst, 1024, 0, true},
		{"READ inside", FaultInside, roce.ReadRequest, 0, 1, true},
		{"SEND in a WRITE", FaultOperation, roce.SendLast, 3, 0, true},
		{"short FIRST", FaultNotFull, roce.SendFirst, 1000, 0, false},
		{"empty LAST", FaultEmptyLast, roce.WriteLast, 0, 0, true},
		{"long ONLY", FaultTooLong, roce.SendOnly, 1025, 0, false},
		{"short WRITE", FaultDMALen, roce.WriteOnly, 7, 8, false},
		{"long WRITE", FaultDMALen, roce.WriteLast, 1000, 0, true},
		{"huge READ", FaultHuge, roce.ReadRequest, 0, 1<<31 + 1, false},
		{"huge WRITE", FaultHuge, roce.WriteFirst, 1024, 1<<31 + 1, false},
		{"legal LAST", "", roce.WriteLast, 476, 0, true},
	} {
		w, at := newWalk(t, true), 0
		if c.inside {
			w.see(trace.ResponderIn, roce.WriteFirst, 0, 1024, dmaLen(1500))
			at = 1
		}
		if s := w.see(trace.ResponderIn, c.op, at, c.size, dmaLen(c.dma)); s.Reason != c.reason ||
			s.Legal != (c.reason == "") {
			t.Errorf("%s: legal=%v, %q, want %q", c.name, s.Legal, s.Reason, c.reason)
		}
	}
}

func TestBadICRCChangesNothing(t *testing.T) {
	w := newWalk(t, true)
	w.s.Sight = trace.Sight{Rec: &trace.Record{}, Pkt: &roce.Packet{}, ICRC: trace.Bad}
	w.s.Pkt.PSN = testStart
	w.s.Point = trace.ResponderIn
	w.c.observe(&w.s)
	w.c.update(&w.s)
	w.want("EPSN", w.c.EPSN, testStart)
	w.want("legal", w.s.Legal, false)
}

func TestACaptureMayBeginInTheMiddle(t *testing.T) {
	w := newWalk(t, false)
	s := w.see(trace.ResponderIn, roce.WriteMiddle, 100, 1024)
	w.want("legal", s.Legal, true)
	w.want("EPSN", w.c.EPSN, testStart.Add(101))
	w.see(trace.ResponderIn, roce.WriteLast, 101, 1)
	w.see(trace.RequesterOut, roce.ReadRequest, 102, 0, dmaLen(9000))
	w.want("MAX", w.c.MAX, testStart.Add(111))
}

func TestReadBeforeTheMTUIsKnown(t *testing.T) {
	w := newWalk(t, false)
	w.c.MTU = 0
	w.see(trace.RequesterOut, roce.ReadRequest, 0, 0, dmaLen(9000))
	w.want("unsure", w.c.PositionUnsure(), true)
	s := w.see(trace.RequesterOut, roce.ReadRequest, 9, 0, dmaLen(100))
	w.want("relation", s.Relation, First)
	w.want("MAX", w.c.MAX, testStart.Add(10))
}

func TestWindowForgetsBeyondItsLimit(t *testing.T) {
	w := newWalk(t, true)
	for i := range 1000 {
		w.see(trace.RequesterOut, roce.SendOnly, i, 1)
	}
	for _, i := range []int{0, 500, 999} {
		if x := w.c.Sent(testStart.Add(i)); x == nil || int(x.Message) != i {
			t.Errorf("transmission %d: %+v", i, x)
		}
	}
	if x := w.c.Sent(testStart.Add(1000)); x != nil {
		t.Errorf("a PSN never sent: %+v", x)
	}
}

func TestPacketsForSomebodyElse(t *testing.T) {
	for name, change := range map[string]func(*roce.Packet){
		"QP number": func(p *roce.Packet) { p.DestQP = 8 },
		"partition": func(p *roce.Packet) { p.PKey = 0x1234 },
		"version":   func(p *roce.Packet) { p.TVer = 1 },
	} {
		w := newWalk(t, true)
		w.c.Attr.QPN, w.c.PeerAttr.QPN, w.c.Attr.PKey, w.c.PeerAttr.PKey = 7, 9, 0x8001, 0x0001
		good := func(p *roce.Packet) { p.DestQP, p.PKey = 9, 0x0001 }
		s := w.see(trace.ResponderIn, roce.SendOnly, 0, 8, good, change)
		w.want(name+": reason", s.Reason, FaultAddress)
		w.want(name+": expected", w.c.EPSN, testStart)
		w.want("the same for this QP", w.see(trace.ResponderIn, roce.SendOnly, 0, 8, good).Legal, true)
		w.see(trace.RequesterOut, roce.SendOnly, 0, 8, good)
		w.see(trace.RequesterIn, roce.Acknowledge, 0, 0, ack(roce.SyndromeACK), func(p *roce.Packet) {
			p.DestQP, p.PKey = 7, 0x8001
		}, change)
		w.want(name+": acknowledged", w.c.UNA, testStart)
	}
}

// TestForeignDialectMovesNothing injects a packet of an extension that the connection does not speak.
func TestForeignDialectMovesNothing(t *testing.T) {
	f, err := fixture.Parse(strings.NewReader("A>B WRITE_ONLY psn=+0 len=8 A\nX>B X_WRITE_ONLY psn=+1 len=8 A\nA>B "+
		"WRITE_ONLY psn=+1 len=8 A\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []Relation
	r := Rule{ID: "X", Sees: RequestIn, New: func(*Context) Check {
		return Check{Sight: func(s *Sight) { got = append(got, s.Relation) }}
	}}
	f.Play(trace.NewTimeline(&f.Header, NewJudge(f.Header, []Rule{r}, Options{})))
	if diff := cmp.Diff([]Relation{InOrder, Unrelated, InOrder}, got); diff != "" {
		t.Error(diff)
	}
}

// Where the ends are of different kinds, each accepts the features that it declares; other packets have no effect.
func TestEndsOfDifferentKinds(t *testing.T) {
	isF := func(o roce.Opcode) bool { return o.Class() == roce.ClassF }
	for _, c := range []struct {
		name  string
		ends  *[2]End
		taken bool
	}{{"the same", nil, true}, {"both", &[2]End{{Accepts: isF}, {Accepts: isF}}, true},
		{"the responder", &[2]End{{}, {Accepts: isF}}, true}, {"the requester", &[2]End{{Accepts: isF}, {}}, false}} {
		w := newWalk(t, true)
		w.c.owner = &Judge{opts: Options{Ends: c.ends}}
		s := w.see(trace.ResponderIn, roce.FSendFirst+roce.SendOnly, 0, 10)
		w.want(c.name+": legal", s.Legal, c.taken)
		w.want(c.name+": not addressed", s.Reason == FaultAddress, !c.taken)
		w.want(c.name+": expected", w.c.EPSN, testStart.Add(map[bool]int{true: 1}[c.taken]))
		w.want(c.name+": RC is taken", w.see(trace.ResponderIn, roce.SendOnly, w.c.EPSN.Sub(testStart), 10).Legal, true)
	}
}

// The responder, not the requester, declares whether out-of-order packets are kept.
func TestRespondersDeclareWhatTheyKeep(t *testing.T) {
	h := testHeader(1)
	j := NewJudge(h, nil, Options{Ends: &[2]End{{Features: []string{"rc"}},
		{Features: []string{"rc", KeepsEarly, KeepsNewest}}}})
	for side, keeps := range []bool{true, false} { // the responder of A's requests is B
		if c := &j.half(0, trace.Side(side)).conv; c.Keeps() != keeps || c.responder.keep.rising != keeps {
			t.Errorf("requests of %v: kept %v, rising %v", trace.Side(side), c.Keeps(), c.responder.keep.rising)
		}
	}
}
