package recording

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// Connection management gives values that traffic does not show early: the other QPN, the MTU, and the start PSNs.
// managed returns what is learnt from a connection that was set up with an MTU of 4096, and its packets.
func managed(t *testing.T, text string) (h trace.Header, a, b trace.End) {
	t.Helper()
	f := tracetest.Parse(t, text, 100)
	a, b = f.Header.Conns[0].Ends[trace.A], f.Header.Conns[0].Ends[trace.B]
	mad := func(from, to trace.End, m roce.CMMessage) capture.Frame {
		p := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: roce.CMQueuePair, PKey: roce.DefaultPKey},
			DETH: roce.DETH{QKey: roce.CMQKey, SrcQP: 1}}
		p.Payload = roce.AppendCM(nil, 1, m)
		p.Len = len(p.Payload)
		fr := roce.Frame{Src: from.Addr, Dst: to.Addr, SrcPort: 7, TTL: 64, Packet: p}
		return capture.Frame{Raw: fr.AppendTo(nil), Wall: tracetest.Epoch}
	}
	req := &roce.REQ{LocalCommID: 5, QPN: a.QP.QPN, StartingPSN: 900, PathMTU: 5}
	rep := &roce.REP{CommIDs: roce.CommIDs{Local: 6, Remote: 5}, QPN: b.QP.QPN, StartingPSN: 100}
	list := append([]capture.Frame{mad(a, b, req), mad(b, a, rep)}, tracetest.FramesAt(f, trace.A)...)
	l, err := learn([]capture.Source{&tracetest.Frames{List: list}})
	if err != nil {
		t.Fatal(err)
	}
	if h = l.header(); len(h.Conns) != 1 {
		t.Fatalf("%+v", h.Conns)
	}
	return h, a, b
}

// learn returns a learner that has read the sources.
func learn(sources []capture.Source) (*learner, error) {
	l := newLearner()
	return l, l.read(sources, func() float64 { return 1 })
}

// Packets of another MTU than that of the messages are of another connection of the same QPNs.
func TestAnotherMTUThanManaged(t *testing.T) {
	for text, want := range map[string]bool{
		"A>B SEND_FIRST psn=+7 len=4096\n": false, "A>B SEND_FIRST psn=+7 len=1024\n": true,
	} {
		if h, _, _ := managed(t, text); h.Conns[0].Anew != want {
			t.Errorf("%s: anew %v", text, !want)
		}
	}
}

func TestLearnFromConnectionManagement(t *testing.T) {
	h, a, b := managed(t, "A>B SEND_ONLY psn=+7 len=8\n")
	got := h.Conns[0].Ends
	if q := got[trace.A].QP; q.QPN != a.QP.QPN || q.DestQPN != b.QP.QPN || q.MTU != 4096 || q.SendPSN != 100 ||
		q.RecvPSN != 900 || got[trace.A].Port != a.Port {
		t.Errorf("end A is %+v", got[trace.A])
	}
	if q := got[trace.B].QP; q.QPN != b.QP.QPN || q.SendPSN != 900 || q.RecvPSN != 100 {
		t.Errorf("end B is %+v", got[trace.B])
	}
}

// The payload of a CNP is of no message, so that it shows no MTU.
func TestCNPShowsNoMTU(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=3000 A\nB>A CNP len=16\nB>A ACK psn=+0 msn=1\n", 0)
	l, err := learn([]capture.Source{&tracetest.Frames{List: tracetest.FramesAt(f, trace.A)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.header().Conns[0].Ends {
		if e.QP.MTU != 0 {
			t.Errorf("MTU of %v is %d, want 0, unknown", e.Addr, e.QP.MTU)
		}
	}
}

// Packets to a wrong QP are of the connection whose next packets they are, also two in a row, and the last one before
// the requester goes back; at one tap and at two, where they are seen again when later ones have long passed the first.
func TestStrayAtTwoTaps(t *testing.T) {
	f := tracetest.Parse(t, `
@0..2.5 A>B SEND_ONLY psn=+0 len=8 A
@1..3.5 A>B SEND_ONLY psn=+1 len=8
@2..4.5 A>B SEND_ONLY psn=+2 len=8
@2.7..5.2 B>A ACK psn=+0 msn=1
@3..5.5 A>B SEND_ONLY psn=+3 len=8
@4..6.5 A>B SEND_ONLY psn=+4 len=8 A
@4.7..7.2 B>A NAK psn=+1 msn=1 PSN_SEQ_ERR
@8..10.5 A>B SEND_ONLY psn=+1 len=8
@9..11.5 A>B SEND_ONLY psn=+2 len=8
@10..12.5 A>B SEND_ONLY psn=+3 len=8
@11..13.5 A>B SEND_ONLY psn=+4 len=8 A
@14..16.5 B>A ACK psn=+4 msn=5
`, 0)
	for _, strays := range [][]psn.PSN{{1}, {1, 2}, {1, 4}} {
		a := misaddressed(t, tracetest.FramesAt(f, trace.A), strays)
		b := misaddressed(t, tracetest.FramesAt(f, trace.B), strays)
		for _, lists := range [][][]capture.Frame{{a}, {b}, {a, b}} {
			r, _ := filed(t, lists...)
			var all []uint32
			for i := range r.Header.Conns {
				all = append(all, r.Header.Conns[i].Ends[trace.B].Misaddressed...)
			}
			if len(r.Header.Conns) != 1 || len(all) != 1 || all[0] != 0x999 {
				t.Errorf("%v, %d files: %d connections, misaddressed %x", strays, len(lists), len(r.Header.Conns), all)
			}
		}
	}
}

// misaddressed sends the first transmissions of some requests to QP 0x999.
func misaddressed(t *testing.T, frames []capture.Frame, strays []psn.PSN) []capture.Frame {
	t.Helper()
	sent := map[psn.PSN]bool{}
	for i := range frames {
		var h roce.Frame
		if err := h.Decode(frames[i].Raw); err != nil {
			t.Fatal(err)
		}
		p := &h.Packet
		if p.Opcode.IsRequest() && !sent[p.PSN] && slices.Contains(strays, p.PSN) {
			p.DestQP = 0x999
			frames[i].Raw = h.AppendTo(nil)
		}
		sent[p.PSN] = sent[p.PSN] || p.Opcode.IsRequest()
	}
	return frames
}
