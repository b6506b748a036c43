package injector_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// open loads an injector for a Spec on the loopback device, without attaching it.
func open(tb testing.TB, s *scenario.Spec, log io.Writer) *injector.Injector {
	tb.Helper()
	if support := injector.Probe(); !support.OK {
		tb.Skip(support.Reason)
	}
	ns, err := os.Open("/proc/self/ns/net")
	if err != nil {
		tb.Fatal(err)
	}
	defer ns.Close()
	i, err := injector.Open(injector.Config{Namespace: int(ns.Fd()), Devices: [2]string{"lo", "lo"}, Link: s.Link,
		Faults: s.Faults,
		Seeds:  s.Seeds(), Dialect: wire.Dialect(s), Log: log})
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

// model is the relay's and the simulator's treatment of the same frames.
type model struct {
	channels   [2]*channel.Channel
	classifier *wire.Classifier
	marked     [2]uint64   // by sender: frames that pass with a mark of a fault
	byFault    [2][]uint64 // by sender and fault: frames of which the fault is the cause
}

func newModel(tb testing.TB, s *scenario.Spec) *model {
	tb.Helper()
	set, err := fault.NewSet(s.Faults)
	if err != nil {
		tb.Fatal(err)
	}
	m := &model{classifier: wire.NewClassifier(s)}
	for side, l := range [2]spec.Link{s.Link.AB, s.Link.BA} {
		m.byFault[side] = make([]uint64, len(s.Faults))
		if m.channels[side], err = channel.New(l, set, s.Seeds()[side]); err != nil {
			tb.Fatal(err)
		}
	}
	return m
}

// judge returns the verdict on a frame; nil for a frame that is not of the run.
func (m *model) judge(side trace.Side, frame []byte) *channel.Verdict {
	id, known := m.classifier.Classify(wire.FaultSide(side), frame)
	if !known {
		return nil
	}
	v := m.channels[side].Offer(0, len(frame), wire.FaultSide(side), id)
	if v.Mark && v.Fate != channel.Lost {
		m.marked[side]++
	}
	if v.Cause.Scripted() {
		m.byFault[side][v.Cause.Fault]++
	}
	return &v
}

// packets has the kinds that faults distinguish. The PSN and the QP are drawn.
var packets = []string{"WRITE_FIRST dmalen=4096 len=1024", "WRITE_MIDDLE len=64", "SEND_ONLY len=4", "ACK msn=1",
	"RNR msn=1 timer=2", "NAK msn=1 PSN_SEQ_ERR", "READ_REQUEST dmalen=8", "READ_RESP_ONLY msn=1 len=4",
	"ATOMIC_ACK msn=1", "CMP_SWAP", "CNP", "UD_SEND_ONLY len=256", "IRN_NACK msn=1", "SACK msn=1",
	"F_WRITE_MIDDLE len=8", "X_READ_RESP_ONLY msn=1 len=4", "LOWAR len=9"}

// faults are scripts that an injector supports; their offsets are among those of the packets.
var faults = []string{"drop %s psn=+2 tx=1", "drop %s psn=+2 tx=2", "drop %s nth=3", "dup %s psn=+1..+3 tx=1",
	"dup %s copies=3 count=4", "mark %s count=*",
	"drop %s type=ACK nth=2", "drop %s type=NAK", "mark %s type=RNR count=*", "drop %s qp=1 psn=-1",
	"drop %s tx=3 count=1", "drop %s type=WRITE_MIDDLE nth=2",
	"mark %s type=DATA psn=+0..+4 count=*", "drop %s type=READ_RESP", "drop %s type=CM count=*",
	"drop %s type=MALFORMED count=2",
	"drop %s type=FEC", "mark %s type=REPAIR count=*", "dup %s type=FEC psn=+2", "drop %s qp=2 tx=2 nth=2",
	"drop %s count=2"}

// drawSpec draws a fault script and the loss of a link.
func drawSpec(rt *rapid.T) *scenario.Spec {
	lines := []string{"qp count=3", fmt.Sprintf("seed %d", rapid.Uint32().Draw(rt, "seed")),
		rapid.SampledFrom([]string{"loss A>B random p=20%", "loss A>B gemodel p=0.1 r=0.3",
			"loss B>A burst p=0.1 len=3 h=0.5", "run for=1s"}).Draw(rt, "loss")}
	for range rapid.IntRange(1, 6).Draw(rt, "faults") {
		lines = append(lines, fmt.Sprintf(rapid.SampledFrom(faults).Draw(rt, "fault"), rapid.SampledFrom([]string{"A",
			"B"}).Draw(rt, "side")))
	}
	s := scenario.Default()
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			rt.Fatalf("%s: %v", l, err)
		}
	}
	start := rapid.SampledFrom([]psn.PSN{0, psn.Half - 2, psn.Mask - 1}).Draw(rt, "start")
	s.QP[0].SendPSN, s.QP[1].SendPSN = start, start.Add(100)
	return s
}

// drawFrame draws a frame from a side, correct or damaged.
func drawFrame(rt *rapid.T, s *scenario.Spec, from trace.Side) []byte {
	p, err := roce.ParsePacket(rapid.SampledFrom(packets).Draw(rt, "packet"))
	if err != nil {
		rt.Fatal(err)
	}
	qp := rapid.IntRange(0, 3).Draw(rt, "qp")
	p.DestQP = s.Ends(0)[from.Other()].QPN + uint32(qp)
	if p.Opcode == roce.UDSendOnly && qp > 0 {
		p.DestQP = roce.CMQueuePair
	}
	requester := from
	if p.ToRequester() {
		requester = from.Other()
	}
	p.PSN = s.QP[requester].SendPSN.Add(rapid.IntRange(-1, 4).Draw(rt, "psn"))
	if p.Opcode == roce.LoWAR {
		p.Repair = roce.Repair{Type: roce.RepairType(rapid.IntRange(0, 4).Draw(rt, "type")), Base: p.PSN,
			Responses: rapid.Bool().Draw(rt, "of responses")}
	}
	p.Payload = bytes.Repeat([]byte{7}, p.Len)
	var f roce.Frame
	drive.Frame(&f, from, 0, &p)
	return damage(rt, f.AppendTo(nil))
}

// damage makes some frames malformed or of another protocol.
func damage(rt *rapid.T, b []byte) []byte {
	switch rapid.IntRange(0, 19).Draw(rt, "damage") {
	case 0:
		return b[:rapid.IntRange(34, len(b)).Draw(rt, "cut")] // the kernel runs no program on less than an IP header
	case 1:
		b[rapid.IntRange(12, min(len(b), 60)-1).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
	case 2:
		b[12], b[13] = 0x08, 0x06 // ARP
	case 3:
		b[23] = 1 // ICMP, if the checksum is right
		if rapid.Bool().Draw(rt, "mend") {
			b[24], b[25] = 0, 0
			sum := uint32(0)
			for i := 14; i < 34; i += 2 {
				sum += uint32(binary.BigEndian.Uint16(b[i:]))
			}
			for sum>>16 != 0 {
				sum = sum>>16 + sum&0xFFFF
			}
			binary.BigEndian.PutUint16(b[24:], ^uint16(sum))
		}
	}
	return b
}

// readable reports whether the injector parses a frame, if only as malformed: it is not of another protocol.
func readable(frame []byte) bool {
	if _, _, ok := roce.OverIP(frame); ok {
		return false
	}
	kind := binary.BigEndian.Uint16(frame[12:])
	return kind != 0x8100 && kind != 0x86DD
}

// The injector treats every frame like package channel, which the relay and the simulator share: for drawn scripts and
// losses, and for sequences of frames of every kind.
func TestFatesAreThoseOfTheChannel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		i := open(t, s, io.Discard) // each frame has a record or is counted as missed
		defer i.Close()
		m := newModel(t, s)
		for n := range 60 {
			from := trace.Side(rapid.IntRange(0, 1).Draw(rt, "from"))
			frame := drawFrame(rt, s, from)
			if !readable(frame) {
				continue
			}
			code, after, err := i.Programs()[from].Test(frame)
			if err != nil {
				rt.Fatal(err)
			}
			want := bytes.Clone(frame)
			v := m.judge(from, frame)
			if v != nil && v.Fate != channel.Lost {
				wire.Alter(want, v)
			}
			if lost := v != nil && v.Fate == channel.Lost; lost != (code == injector.Shot) || !lost &&
				!bytes.Equal(want, after) {
				rt.Fatalf("frame %d from %s answers %d, want lost %t (%v)\n%x\n%x\n%x\n%s", n, from, int32(code), lost,
					v, frame, after, want, strings.Join(faultLines(s), "\n"))
			}
		}
		compareCounters(rt, i, m)
	})
}

func faultLines(s *scenario.Spec) (list []string) {
	for _, f := range s.Faults {
		list = append(list, f.String())
	}
	return list
}

// compareCounters compares the injector's counters with those of the channels.
func compareCounters(tb rapid.TB, i *injector.Injector, m *model) [2]injector.Counters {
	tb.Helper()
	counters, err := i.Counters()
	if err != nil {
		tb.Fatal(err)
	}
	for side, c := range counters {
		n := m.channels[side].Counters()
		want := injector.Counters{Frames: n.Offered, Lost: n.Lost, Drawn: c.Asked, Asked: c.Asked, Dropped: n.Dropped,
			Marked: m.marked[side], Copies: n.Copies, ByFault: m.byFault[side]}
		if d := cmp.Diff(want, c, cmpopts.EquateEmpty()); d != "" {
			tb.Fatalf("counters of side %d\n-want +got\n%s", side, d)
		}
	}
	return counters
}
