package drive

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// foreign returns the opcodes that an RC QP does not use: other services, the manufacturer-specific classes, and
// LoWAR's repair packets, whose first byte is in the RC class.
func foreign() (ops []roce.Opcode) {
	for code := range 256 {
		op := roce.Opcode(code)
		if op.Known() && !op.OverIP() && op != roce.CNP && (op.Class() != roce.ClassRC || op == roce.LoWAR) {
			ops = append(ops, op)
		}
	}
	return ops
}

// Stock go-back-N drops foreign packets without effect (IBTA 9.6.1): each is counted, none is answered, and no
// variable, timer, event or byte of memory changes, whatever the fields of the packet.
func TestForeignOpcodesAreDroppedInSilence(t *testing.T) {
	ops := foreign()
	for _, want := range []roce.Opcode{roce.LoWAR, roce.XSendFirst, roce.IRNNack, roce.IRNReadAck, roce.RACK,
		roce.FReadRequest, roce.FReadRespOnly,
		roce.FaSRSack, roce.FaSRReadAck, roce.FaSRSackOverflow} {
		if !slices.Contains(ops, want) {
			t.Errorf("%v is not among %v", want, ops)
		}
	}
	s := lines(t, "qp receives=4 mtu=256", "load write msg=2000 count=4", "load read from=B msg=600 count=2",
		"load send from=B msg=8 count=1")
	var seen events
	e, err := New(s, trace.A, gbn.Implementation(), Options{Bytes: true, Observer: &seen})
	if err != nil {
		t.Fatal(err)
	}
	e.Start(0)
	var p roce.Packet
	for e.Ready() {
		e.Transmit(1, &p)
	}
	stores := 0
	e.memory.memory.Watch = func(uint64, []byte, int) { stores++ }
	before, deadline, reported := e.Vars(0), e.Deadline(), len(seen)
	sent := int64(0)
	for _, op := range ops {
		for _, at := range []psn.PSN{0, 1, 7, psn.Half, psn.Mask} {
			p := roce.Packet{BTH: roce.BTH{Opcode: op, PSN: at, DestQP: s.Ends(0)[trace.A].QPN,
				PKey: roce.DefaultPKey, AckReq: true},
				RETH: roce.RETH{VA: Target(0), RKey: Key(trace.A, 0), DMALen: 256}, SACK: roce.SACKETH{PSN: at.Add(2)}}
			if op.Layout()&roce.LayoutPayload != 0 {
				p.Len = 256
			}
			var f roce.Frame
			Frame(&f, trace.B, 0, &p)
			e.ReceiveFrame(2, f.AppendTo(nil))
			sent++
			if got := e.Counters(); got["class"] != sent || e.Ready() {
				t.Fatalf("%v psn=%d: %v dropped, want %d for their class; something to send: %v", op, at,
					got, sent, e.Ready())
			}
		}
	}
	if d := cmp.Diff(before, e.Vars(0)); d != "" || e.Deadline() != deadline || len(seen) != reported || stores != 0 {
		t.Errorf("%d packets changed the state: deadline %v to %v, %d events, %d stores, variables %s", sent, deadline,
			e.Deadline(), len(seen)-reported, stores, d)
	}
}

// events collects the events that an endpoint reports.
type events []trace.Event

func (l *events) Event(e *trace.Event) { *l = append(*l, *e) }
