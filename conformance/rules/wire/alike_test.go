package wire

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// single returns the rules that judge each frame by itself.
func single() (list []rule.Rule) {
	for _, r := range Rules() {
		if r.Each != nil && !r.Keeps && r.Rests == validity.Frames {
			list = append(list, r)
		}
	}
	return list
}

// looking returns the rules that remember looks, and the same rules without the saving.
func looking() (saving, attentive []rule.Rule) {
	for _, r := range Rules() {
		if r.Looks {
			saving, attentive = append(saving, r), append(attentive, r.Attentive())
		}
	}
	return saving, attentive
}

// judgeFrames passes frames of A or their answers to a judge, and returns how often each rule was met and broken.
func judgeFrames(rules []rule.Rule, taps [2]bool, from trace.Side, frames ...[]byte) (n [][2]int) {
	h := trace.Header{Taps: taps, Bytes: true, Conns: make([]trace.Conn, 1)}
	for i := range h.Conns[0].Ends {
		h.Conns[0].Ends[i] = trace.End{Known: true, QP: engine.QP{QPN: 18, DestQPN: 18,
			PKey: roce.DefaultPKey, MTU: 256}}
	}
	j := rule.NewJudge(h, rules, rule.Options{})
	line := trace.NewTimeline(&h, j)
	for i, raw := range frames {
		at := vtime.Time(i) * vtime.Time(vtime.Microsecond)
		r := trace.Record{Sent: at, Recv: at + 1, From: from, Fate: trace.Delivered, Raw: raw}
		if !taps[from] {
			r.Sent, r.Fate = vtime.Never, trace.Unknown
		}
		r.Decode(&roce.Frame{})
		line.Packet(&r)
	}
	line.End(vtime.Time(vtime.Second))
	for _, v := range j.Verdicts() {
		n = append(n, [2]int{v.Met, v.Total})
	}
	return n
}

// frameAt returns the frame of a packet, with an IP identification that depends on the PSN.
func frameAt(o roce.Opcode, p psn.PSN, payload int) []byte {
	f := roce.Frame{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 50000,
		TTL: 64, DF: true, ID: 0xFFF0 + uint16(p)}
	f.Packet.BTH = roce.BTH{Opcode: o, PKey: roce.DefaultPKey, DestQP: 18, PSN: p, AckReq: p%3 == 0}
	f.Packet.AETH = roce.AETH{Syndrome: roce.SyndromeACK, MSN: psn.MSN(p)}
	f.Packet.Payload, f.Packet.Len = make([]byte, payload), payload
	return f.AppendTo(nil)
}

// TestAlike: the verdict on a frame does not depend on earlier frames, although equal frames are judged once. Every bit
// of the headers is inverted in a frame among others, with a good ICRC and with a bad one.
func TestAlike(t *testing.T) {
	rules, step := single(), 1
	saving, attentive := looking()
	if testing.Short() {
		step = 7
	}
	for _, c := range []struct {
		op      roce.Opcode
		from    trace.Side
		payload int
	}{{roce.WriteMiddle, trace.A, 256}, {roce.WriteOnly, trace.A, 256}, {roce.SendOnly, trace.A, 255},
		{roce.Acknowledge, trace.B, 0}, {roce.ReadRespOnly, trace.B, 256}} {
		plain := func(p psn.PSN) []byte { return frameAt(c.op, p, c.payload) }
		for _, taps := range [][2]bool{{true, true}, {c.from == trace.B, c.from == trace.A}} {
			usual := judgeFrames(rules, taps, c.from, plain(7))
			for bit := 0; bit < 8*(len(plain(9))-c.payload); bit += step {
				for _, sealed := range []bool{true, false} {
					edited := plain(9)
					edited[bit/8] ^= 1 << (bit % 8)
					if sealed {
						roce.Reseal(edited)
					}
					if _, _, fragment := roce.OverIP(edited); fragment {
						continue // of no connection, so both halves see it once they have begun
					}
					alone := judgeFrames(rules, taps, c.from, edited)
					among := judgeFrames(rules, taps, c.from, plain(7), plain(8), edited, plain(10), edited,
						plain(30), plain(31))
					for i := range rules {
						met, broken := 5*usual[i][0]+2*alone[i][0], 5*usual[i][1]+2*alone[i][1]
						if among[i] != [2]int{met, broken} {
							t.Fatalf("%v, taps %v, bit %d, sealed %v: %s is met and broken %v times, want %d and %d",
								c.op, taps, bit, sealed, rules[i].ID, among[i], met, broken)
						}
					}
					mixed := [][]byte{edited, plain(7), plain(8), edited, plain(10), plain(11), edited, edited, plain(12)}
					got := judgeFrames(saving, taps, c.from, mixed...)
					if want := judgeFrames(attentive, taps, c.from, mixed...); !slices.Equal(got, want) {
						t.Fatalf("%v, taps %v, bit %d, sealed %v: met and broken %v times, want %v", c.op, taps, bit, sealed,
							got, want)
					}
				}
			}
		}
	}
}

// TestLooksAfterFinding: a rule that forgets what it knew when it reports a violation sees all looks again.
func TestLooksAfterFinding(t *testing.T) {
	saving, attentive := looking()
	read, datagram := frameAt(roce.ReadRequest, 7, 0), frameAt(roce.UDSendOnly, 8, 256)
	mixed := [][]byte{read, read, read, datagram, read, read, datagram}
	got := judgeFrames(saving, [2]bool{true, true}, trace.A, mixed...)
	want := judgeFrames(attentive, [2]bool{true, true}, trace.A, mixed...)
	if !slices.Equal(got, want) {
		t.Errorf("met and broken %v times, want %v", got, want)
	}
	if i := slices.IndexFunc(saving, func(r rule.Rule) bool { return r.ID == "WIRE-OPC-002" }); want[i][1] != 2 {
		t.Errorf("%d findings of a QP that sends two datagrams after READs, want 2", want[i][1])
	}
}
