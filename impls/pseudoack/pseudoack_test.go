package pseudoack

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// The endpoints are those of go-back-N, whatever the parameters of the box.
func TestEndpointsAreUnchanged(t *testing.T) {
	enginetest.Run(t, Over(gbn.Implementation()), enginetest.Options{QP: func(qp *engine.QP) {
		qp.Params = engine.Params{"buffer": "1MiB", "ack_delay": "2us"}
	}})
}

func TestParameters(t *testing.T) {
	im := Over(gbn.Implementation())
	for _, tc := range []struct{ name, value, want string }{
		{"buffer", "64KB", "buffer"},
		{"buffer", "17GiB", "want 0 to 16GiB"},
		{"overrun", "1KiB", "want 64KiB to 16GiB"},
		{"flows", "0", "want 1 to 65536"},
		{"path_mtu", "1000", "want 256, 512, 1024, 2048 or 4096"},
		{"path_mtu", "128", "want 256 to 4096"},
		{"wan_retry", "many", "want 0 to"},
		{"wan_rto", "-1ms", "wan_rto"},
	} {
		_, err := im.NewBox(engine.BoxConfig{Params: engine.Params{tc.name: tc.value}})
		if err == nil || !strings.Contains(err.Error(), "parameter "+tc.name) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: %v, want an error with %q", tc.name, tc.value, err, tc.want)
		}
	}
	if _, err := New(engine.BoxConfig{Params: engine.Params{"bufer": "1MiB"}}); err == nil ||
		!strings.Contains(err.Error(), "known are buffer, flows") {
		t.Errorf("a misspelt parameter gives %v", err)
	}
	qp := engine.QP{QPN: 1, DestQPN: 2, MTU: 1024, QueueDepth: 1, Params: engine.Params{"bufer": "1MiB"}}
	if _, _, err := im.New(qp, &memory.Host{}); err == nil || !strings.Contains(err.Error(), "bufer") {
		t.Errorf("a parameter that nobody knows gives %v", err)
	}
	b, err := New(engine.BoxConfig{RTT: 20 * vtime.Millisecond})
	if err != nil || b.cfg.rto != 40*vtime.Millisecond || b.cfg.buffer != 64<<20 {
		t.Errorf("the defaults are %+v, %v", b.cfg, err)
	}
}

// path drives a box step by step. Local's QP is 0x11 and Remote's 0x22, unless a packet has another.
type path struct {
	t   *testing.T
	box *Box
	now vtime.Time
}

func newPath(t *testing.T, params engine.Params) *path {
	t.Helper()
	b, err := New(engine.BoxConfig{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return &path{t: t, box: b}
}

var hosts = [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}

// frame returns a frame with a packet that arrives at port from.
func (p *path) frame(from engine.Port, pkt roce.Packet) *roce.Frame {
	return &roce.Frame{Src: hosts[from], Dst: hosts[from.Other()], TTL: 64, DF: true, SrcPort: 0xC000,
		DstPort: roce.Port, Packet: pkt}
}

// put passes a packet, given as text, to the box.
func (p *path) put(from engine.Port, text string) {
	p.t.Helper()
	pkt, err := roce.ParsePacket(text)
	if err != nil {
		p.t.Fatal(err)
	}
	if pkt.DestQP == 0 {
		pkt.DestQP = [2]uint32{0x22, 0x11}[from]
	}
	p.box.HandleFrame(p.now, from, p.frame(from, pkt))
}

// cm passes a set-up message to the box.
func (p *path) cm(from engine.Port, m roce.CMMessage) {
	p.box.HandleFrame(p.now, from, p.frame(from, roce.Packet{
		BTH:  roce.BTH{Opcode: roce.UDSendOnly, DestQP: roce.CMQueuePair},
		DETH: roce.DETH{QKey: roce.CMQKey}, Payload: roce.AppendCM(nil, 7, m), Len: roce.CMLen,
	}))
}

// connect sets up a connection that Local requested: Local starts at a, Remote at b.
func (p *path) connect(local, remote uint32, a, b psn.PSN) {
	p.cm(engine.LAN, &roce.REQ{LocalCommID: local, QPN: local, StartingPSN: b, PathMTU: 3, RNRRetryCount: 7})
	p.cm(engine.WAN, &roce.REP{CommIDs: roce.CommIDs{Local: remote, Remote: local}, QPN: remote, StartingPSN: a})
	p.drain(engine.LAN)
	p.drain(engine.WAN)
}

// drain returns the packets that wait for a port, as text.
func (p *path) drain(to engine.Port) string {
	var f roce.Frame
	var out []string
	for p.box.PollTransmit(p.now, to, &f) {
		out = append(out, string(f.Packet.AppendText(nil, roce.TextOptions{Omit: roce.OmitForLadder})))
	}
	return strings.Join(out, "; ")
}

// want compares the packets that wait for a port.
func (p *path) want(to engine.Port, want string) {
	p.t.Helper()
	if got := p.drain(to); got != want {
		p.t.Errorf("to %v: %q, want %q", [2]string{"Local", "Remote"}[to], got, want)
	}
}

// The starting PSN in a message is that of the message's receiver, so Local's is in the REP, or in the REQ when Remote
// sent it.
func TestStartingPSN(t *testing.T) {
	p := newPath(t, nil)
	p.connect(0x11, 0x22, 100, 900)
	p.put(engine.LAN, "WRITE_ONLY psn=100 len=8 dmalen=8 A")
	p.want(engine.LAN, "ACK psn=100 msn=1")

	p = newPath(t, nil)
	p.cm(engine.WAN, &roce.REQ{LocalCommID: 5, QPN: 0x22, StartingPSN: 100, PathMTU: 3, RNRRetryCount: 7})
	p.cm(engine.LAN, &roce.REP{CommIDs: roce.CommIDs{Local: 6, Remote: 5}, QPN: 0x11, StartingPSN: 900})
	p.drain(engine.LAN)
	p.put(engine.LAN, "WRITE_ONLY psn=100 len=8 dmalen=8 A")
	p.want(engine.LAN, "ACK psn=100 msn=1")
}

// A reused QP number starts with new state.
func TestReuse(t *testing.T) {
	p := newPath(t, nil)
	p.connect(0x11, 0x22, 100, 900)
	p.put(engine.LAN, "SEND_ONLY psn=100 len=8 A")
	p.put(engine.LAN, "SEND_ONLY psn=101 len=8 A")
	p.drain(engine.LAN)
	p.drain(engine.WAN)
	p.cm(engine.LAN, &roce.DREQ{RemoteQPN: 0x22})
	p.want(engine.WAN, "")
	p.put(engine.WAN, "ACK psn=101 msn=2")
	if got := p.drain(engine.WAN); !strings.HasPrefix(got, "UD_SEND_ONLY") {
		t.Errorf("when Remote has all, %q goes out, want the DREQ", got)
	}
	p.put(engine.LAN, "SEND_ONLY psn=102 len=8 A")
	p.want(engine.LAN, "")
	p.connect(0x13, 0x22, 5, 6)
	p.put(engine.LAN, "SEND_ONLY psn=5 len=8 A")
	p.want(engine.LAN, "ACK psn=5 msn=1")
	if n := len(p.box.table.list); n != 1 {
		t.Errorf("%d flows, want 1", n)
	}
}

// A request that Remote must refuse is forwarded and not promised, nor is any later one.
func TestIllegalRequests(t *testing.T) {
	for _, tc := range []string{
		"SEND_MIDDLE psn=0 len=1024 A",
		"SEND_FIRST psn=0 len=1025 A",
		"SEND_ONLY psn=0 len=1025 A",
		"FLUSH psn=0 A",
	} {
		p := newPath(t, nil)
		p.connect(0x11, 0x22, 0, 0)
		p.put(engine.LAN, tc)
		p.put(engine.LAN, "SEND_ONLY psn=1 len=8 A")
		p.want(engine.LAN, "")
		p.drain(engine.WAN)
		p.put(engine.WAN, "NAK psn=0 msn=0 INVALID_REQ")
		p.want(engine.LAN, "NAK psn=0 msn=0 INVALID_REQ")
	}
}

// A duplicate of a request without a pseudo-ACK has no answer yet: the newest pseudo-ACK would follow data with later
// PSNs.
func TestDuplicateBehindRead(t *testing.T) {
	p := newPath(t, nil)
	p.connect(0x11, 0x22, 0, 0)
	p.put(engine.LAN, "SEND_ONLY psn=0 len=8 A")
	p.put(engine.LAN, "READ_REQUEST psn=1 va=0x1000 rkey=0x7 dmalen=2048 A")
	p.put(engine.LAN, "SEND_ONLY psn=3 len=8 A")
	p.want(engine.LAN, "ACK psn=0 msn=1")
	p.drain(engine.WAN)
	p.put(engine.WAN, "READ_RESP_FIRST psn=1 msn=2 len=1024")
	p.want(engine.LAN, "READ_RESP_FIRST psn=1 len=1024 msn=2")
	p.put(engine.LAN, "SEND_ONLY psn=3 len=8 A")
	p.want(engine.LAN, "")
	p.put(engine.WAN, "READ_RESP_LAST psn=2 msn=2 len=1024")
	p.want(engine.LAN, "READ_RESP_LAST psn=2 len=1024 msn=2; ACK psn=3 msn=3")
	p.put(engine.LAN, "SEND_ONLY psn=3 len=8 A")
	p.want(engine.LAN, "ACK psn=3 msn=3")
}

// Beyond its limits the box accepts no more requests of a flow, and no more flows.
func TestLimits(t *testing.T) {
	p := newPath(t, engine.Params{"buffer": "2KiB", "overrun": "64KiB", "flows": "2"})
	p.connect(0x11, 0x22, 0, 0)
	for i := range 100 {
		pkt := roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, PSN: psn.PSN(i), DestQP: 0x22, AckReq: true}, Len: 1000}
		p.box.HandleFrame(p.now, engine.LAN, p.frame(engine.LAN, pkt))
	}
	fl := p.box.table.list[0]
	if fl.buffer.bytes > 66<<10 || p.box.totals[overrun] != 1 || fl.acked != 1 {
		t.Errorf("%d bytes in the buffer, %d dropped, acknowledged up to %d", fl.buffer.bytes,
			p.box.totals[overrun], fl.acked)
	}
	p.connect(0x12, 0x23, 0, 0)
	p.connect(0x13, 0x24, 0, 0)
	if len(p.box.table.list) != 2 || p.box.totals[refusedFlows] != 1 {
		t.Errorf("%d flows, %d refused", len(p.box.table.list), p.box.totals[refusedFlows])
	}
	p.drain(engine.WAN)
	p.put(engine.LAN, "SEND_ONLY psn=0 len=8 qp=0x24 A")
	p.want(engine.WAN, "SEND_ONLY psn=0 len=8 A")
}

// Two flows without set-up have the same PSNs in flight; the UDP port identifies the flow of an ACK.
func TestWatchedFlowsAreToldApart(t *testing.T) {
	p := newPath(t, nil)
	for i := range 2 {
		f := p.frame(engine.LAN,
			roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, DestQP: 0x22 + uint32(i), AckReq: true}, Len: 8})
		f.SrcPort += uint16(i)
		p.box.HandleFrame(p.now, engine.LAN, f)
	}
	p.drain(engine.WAN)
	f := p.frame(engine.WAN, roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: 0x12},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK, MSN: 9}})
	f.SrcPort++
	p.box.HandleFrame(p.now, engine.WAN, f)
	p.want(engine.LAN, "ACK psn=0 msn=9")
	if fl := p.box.table.list[1]; fl.state != promising || fl.local.qpn != 0x12 || fl.base != 8 {
		t.Errorf("the second flow is %+v", fl.local)
	}
	if p.box.table.list[0].state != watching {
		t.Error("the first flow has learnt from the ACK of the second")
	}
}

// A steady flow allocates nothing: a request, its pseudo-ACK, its forwarding, and the real ACK.
func TestNoAllocationPerPacket(t *testing.T) {
	p := newPath(t, nil)
	p.connect(0x11, 0x22, 0, 0)
	req := p.frame(engine.LAN, roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, DestQP: 0x22, AckReq: true},
		Payload: make([]byte, 1024), Len: 1024})
	ack := p.frame(engine.WAN, roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: 0x11},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK}})
	var f roce.Frame
	step := func() {
		p.box.HandleFrame(p.now, engine.LAN, req)
		req.Packet.PSN = req.Packet.PSN.Next()
		if !p.box.PollTransmit(p.now, engine.LAN, &f) || f.Packet.Opcode != roce.Acknowledge {
			t.Fatal("no pseudo-ACK")
		}
		if !p.box.PollTransmit(p.now, engine.WAN, &f) {
			t.Fatal("nothing is forwarded")
		}
		if lag := f.Packet.PSN.Sub(50); lag >= 0 {
			ack.Packet.PSN, ack.Packet.AETH.MSN = psn.PSN(lag), psn.MSN(lag+1)
			p.box.HandleFrame(p.now, engine.WAN, ack)
		}
		for _, ok := p.box.PollEvent(); ok; _, ok = p.box.PollEvent() {
		}
		p.now = p.now.Add(vtime.Microsecond)
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

// With any input from either side the box neither panics nor exceeds its limits, and its timer advances.
func FuzzBox(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newPath(t, engine.Params{"buffer": "8KiB", "overrun": "64KiB", "flows": "3", "wan_rto": "50us"})
		storm(p, rand.New(rand.NewPCG(seed, 0)))
	})
}

func storm(p *path, r *rand.Rand) {
	ops := []roce.Opcode{roce.SendFirst, roce.SendMiddle, roce.SendLast, roce.SendOnly, roce.WriteOnly,
		roce.ReadRequest, roce.FetchAdd,
		roce.Acknowledge, roce.ReadRespFirst, roce.ReadRespOnly, roce.ReadRespLast, roce.AtomicAck,
		roce.UDSendOnly, roce.CNP}
	syndromes := []roce.Syndrome{roce.SyndromeACK, roce.SyndromePSNSeqErr, roce.SyndromeRNR + 1,
		roce.SyndromeRemoteAccess, 0x40}
	messages := []roce.CMMessage{&roce.REQ{LocalCommID: 1, QPN: 0x11, PathMTU: 3},
		&roce.REP{CommIDs: roce.CommIDs{Remote: 1}, QPN: 0x22},
		&roce.DREQ{RemoteQPN: 0x22}, &roce.DREQ{RemoteQPN: 0x11}, &roce.REJ{CommIDs: roce.CommIDs{Remote: 1}}}
	var f roce.Frame
	for range 5000 {
		from := engine.Port(r.IntN(2))
		if r.IntN(50) == 0 {
			p.cm(from, messages[r.IntN(len(messages))])
		}
		pkt := roce.Packet{BTH: roce.BTH{Opcode: ops[r.IntN(len(ops))], DestQP: 0x11 + uint32(r.IntN(3))*0x11,
			PSN: psn.PSN(0).Add(r.IntN(40) - 5), AckReq: r.IntN(2) == 0}, Len: r.IntN(1500)}
		pkt.AETH = roce.AETH{Syndrome: syndromes[r.IntN(len(syndromes))], MSN: psn.MSN(r.IntN(40))}
		pkt.RETH.DMALen = uint32(r.IntN(5000))
		p.box.HandleFrame(p.now, from, p.frame(from, pkt))
		for range r.IntN(3) {
			p.box.PollTransmit(p.now, engine.Port(r.IntN(2)), &f)
		}
		p.now = p.now.Add(vtime.Duration(r.IntN(20)) * vtime.Microsecond)
		if at, ok := p.box.PollTimer(); ok && at <= p.now {
			p.box.HandleTimer(p.now)
			if again, ok := p.box.PollTimer(); ok && again <= p.now {
				p.t.Fatalf("the timer stays at %v, now %v", again, p.now)
			}
		}
		check(p)
	}
}

// check checks the invariants of every flow.
func check(p *path) {
	p.t.Helper()
	ended := 0
	for _, fl := range p.box.table.list {
		if fl.state == silent {
			ended++
		}
		switch {
		case fl.deadline() < p.box.soonest:
			p.t.Fatalf("a flow waits for %v, the box for %v", fl.deadline(), p.box.soonest)
		case fl.buffer.bytes > 72<<10:
			p.t.Fatalf("%d bytes in a buffer", fl.buffer.bytes)
		case fl.state <= promising && fl.begun && (fl.exp.Less(fl.una) || fl.exp.Less(fl.acked) || fl.max.Less(fl.nxt)):
			p.t.Fatalf("una %d, nxt %d, max %d, acked %d, exp %d", fl.una, fl.nxt, fl.max, fl.acked, fl.exp)
		case fl.cur > fl.buffer.n || fl.cur < 0:
			p.t.Fatalf("the cursor is at %d of %d", fl.cur, fl.buffer.n)
		}
	}
	if ended != p.box.ended {
		p.t.Fatalf("%d flows have ended, %d are counted", ended, p.box.ended)
	}
	if len(p.box.table.list) > 3 || len(p.box.table.pending) > 3 {
		p.t.Fatalf("%d flows, %d set-ups", len(p.box.table.list), len(p.box.table.pending))
	}
}

// A long response of Local to a READ of Remote shares the line with the requests for the WAN; acknowledgements go
// first.
func TestPassingDataTakeTurns(t *testing.T) {
	p := newPath(t, nil)
	p.connect(0x11, 0x22, 100, 900)
	p.put(engine.LAN, "READ_RESP_FIRST psn=900 len=1024 msn=1")
	p.put(engine.LAN, "READ_RESP_MIDDLE psn=901 len=1024")
	p.put(engine.LAN, "READ_RESP_LAST psn=902 len=1024 msn=1")
	p.put(engine.LAN, "ACK psn=903 msn=2")
	for psn := 100; psn < 103; psn++ {
		p.put(engine.LAN, fmt.Sprintf("WRITE_ONLY psn=%d len=8 dmalen=8 A", psn))
	}
	var order []string
	var f roce.Frame
	for p.box.PollTransmit(p.now, engine.WAN, &f) {
		order = append(order, f.Packet.PSN.String())
	}
	if got, want := strings.Join(order, " "), "900 100 901 101 902 102 903"; got != want {
		t.Errorf("the WAN gets %s, want %s", got, want)
	}
}
