package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// craft builds the frame of an inject statement in a run of three connections, two of which start at +10 and +20.
func craft(tb testing.TB, start psn.PSN, line string) ([]byte, error) {
	tb.Helper()
	s := scenario.Default()
	for _, l := range []string{"qp count=3", line} {
		if err := s.Line(l); err != nil {
			tb.Fatal(err)
		}
	}
	s.QP[0].SendPSN, s.QP[1].SendPSN = start.Add(10), start.Add(20)
	return Craft(s, s.Injections[0])
}

var starts = []psn.PSN{0, psn.Half - 12, psn.Mask - 14}

// A crafted frame is a packet of the peer with the fields that the statement sets.
func TestCraft(t *testing.T) {
	for _, start := range starts {
		for _, tt := range []struct {
			line  string
			check func(f *roce.Frame) bool
		}{
			{"inject B : WRITE_ONLY psn=+3 len=8", func(f *roce.Frame) bool {
				return f.Packet.PSN == start.Add(13) && f.Packet.DestQP == 0x10011 && f.Src == drive.Addr(trace.A) &&
					f.DstMAC == drive.MAC(trace.B) &&
					f.Packet.RETH.VA == drive.Target(0) && f.Packet.RETH.RKey == drive.Key(trace.B, 0) &&
					f.Packet.Len == 8 && f.DF && f.ID == 0
			}},
			{"inject A qp=2 : WRITE_ONLY psn=-1 va=0 rkey=5", func(f *roce.Frame) bool {
				return f.Packet.PSN == start.Add(19) && f.Packet.DestQP == 0x13 && f.SrcPort == drive.SourcePort(2) &&
					f.Packet.RETH.VA == 0 &&
					f.Packet.RETH.RKey == 5
			}},
			{"inject A qp=1 : ACK psn=+0 msn=1", func(f *roce.Frame) bool {
				return f.Packet.PSN == start.Add(10) && f.Packet.DestQP == 0x12
			}},
			{"inject B : NAK psn=+1 msn=0 PSN_SEQ_ERR", func(f *roce.Frame) bool {
				return f.Packet.PSN == start.Add(21)
			}},
			{"inject B : SEND_ONLY psn=7 qp=0", func(f *roce.Frame) bool {
				return f.Packet.PSN == 7 && f.Packet.DestQP == 0
			}},
			{"inject B : READ_REQUEST psn=+0 rkey=0x9", func(f *roce.Frame) bool {
				return f.Packet.RETH.RKey == 9 && f.Packet.RETH.VA == drive.Target(0)
			}},
			{"inject B set=ipsrc:10.9.9.9,ttl:3 : SEND_ONLY psn=+0", func(f *roce.Frame) bool {
				return f.Src == netip.MustParseAddr("10.9.9.9") && f.TTL == 3
			}},
			{"inject B set=psn:0xABCDEF,pkey:2 : SEND_ONLY psn=+0", func(f *roce.Frame) bool {
				return f.Packet.PSN == 0xABCDEF && f.Packet.PKey == 2
			}},
		} {
			b, err := craft(t, start, tt.line)
			if err != nil {
				t.Errorf("%s: %v", tt.line, err)
				continue
			}
			var f roce.Frame
			if err := f.Decode(b); err != nil || !tt.check(&f) || !roce.CheckICRC(b) || !checksumOK(b) {
				t.Errorf("start %d: %s: %v, ICRC %v, checksum %v\n%+v", start, tt.line, err,
					roce.CheckICRC(b), checksumOK(b), f)
			}
		}
	}
}

func TestCraftDamage(t *testing.T) {
	whole, err := craft(t, 0, "inject B : WRITE_ONLY psn=+3 len=8")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		line    string
		len     int
		icrc    bool
		decodes error
	}{
		{"inject B icrc=bad : WRITE_ONLY psn=+3 len=8", len(whole), false, nil},
		{"inject B icrc=bad set=ttl:3 : WRITE_ONLY psn=+3 len=8", len(whole), false, nil},
		{"inject B chop=20 : WRITE_ONLY psn=+3 len=8", 34, false, roce.ErrLength},
		{"inject B chop=1000 : WRITE_ONLY psn=+3 len=8", len(whole), true, nil},
		{"inject B set=udplen:40 : WRITE_ONLY psn=+3 len=8", len(whole), true, roce.ErrLength},
		{"inject B cut=32 icrc=bad : WRITE_ONLY psn=+3 len=8", 78, false, nil},
		{"inject B cut=30 chop=40 : WRITE_ONLY psn=+3 len=8", 54, false, roce.ErrLength},
		{"inject B set=dmalen:8 cut=28 : WRITE_ONLY psn=+3 len=8", 74, true, nil},
	}
	for _, tt := range tests {
		b, err := craft(t, 0, tt.line)
		var f roce.Frame
		if err != nil || len(b) != tt.len || roce.CheckICRC(b) != tt.icrc || !errors.Is(f.Decode(b), tt.decodes) {
			t.Errorf("%s: %v, %d bytes, ICRC %v, %v", tt.line, err, len(b), roce.CheckICRC(b), f.Decode(b))
		}
	}
}

// A cut packet has the length of its remaining bytes in its headers, so it is dropped at the transport headers at the
// earliest.
func TestCut(t *testing.T) {
	for _, text := range []string{"WRITE_ONLY psn=+3 len=8", "FETCH_ADD psn=+0", "ACK psn=+0 msn=1"} {
		whole, err := craft(t, 0, "inject B : "+text)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < len(whole)-belowBTH-icrcLen; n++ {
			s := scenario.Default()
			b, err := Craft(s, scenario.Injection{To: trace.B, Packet: text, Cut: n})
			if err != nil {
				t.Fatal(err)
			}
			ip, udp := int(binary.BigEndian.Uint16(b[16:])), int(binary.BigEndian.Uint16(b[38:]))
			if len(b) != belowBTH+n+icrcLen || ip != len(b)-14 || udp != len(b)-34 || !checksumOK(b) || n >= 4 &&
				!roce.CheckICRC(b) {
				t.Errorf("%s cut=%d: %d bytes, lengths %d and %d, checksum %v, ICRC %v", text, n, len(b), ip, udp,
					checksumOK(b), roce.CheckICRC(b))
			}
			var f roce.Frame
			headers := f.Packet.Opcode.HeaderLen()
			if err := f.Decode(whole); err == nil {
				headers = f.Packet.Opcode.HeaderLen()
			}
			if err := f.Decode(b); (err != nil) != (n < headers || (n-headers)%4 != 0) { // a payload is padded to words
				t.Errorf("%s cut=%d, headers of %d bytes: %v", text, n, headers, err)
			}
		}
	}
}

func TestCraftErrors(t *testing.T) {
	for line, want := range map[string]string{
		"inject B cut=36 : WRITE_ONLY psn=+3 len=8": "inject: cut=36: the packet has 36 bytes; keep fewer",
		"inject B set=msn:3 : WRITE_ONLY psn=+3 len=8": "inject: set=msn:3: this packet has no such " +
			"field, or it was cut off",
		"inject B set=ttl:256 : WRITE_ONLY psn=+3 len=8": "inject: set=ttl:256: the field has 1 bytes; " +
			"use a smaller number",
		"inject B cut=12 set=dmalen:3 : WRITE_ONLY psn=+3 len=8": "inject: set=dmalen:3: this packet has no such " +
			"field, or it was cut off",
	} {
		if _, err := craft(t, 0, line); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", line, err, want)
		}
	}
	if _, err := Craft(scenario.Default(), scenario.Injection{Packet: "FOO"}); err == nil ||
		!strings.HasPrefix(err.Error(), "inject: packet") {
		t.Errorf("got %v", err)
	}
}

// Offsets count from the start PSN of the packet's half-conversation, whatever that is.
func TestClassifier(t *testing.T) {
	for _, start := range starts {
		s := scenario.Default()
		s.QPs = 3
		s.QP[0].SendPSN, s.QP[1].SendPSN = start, start.Add(5)
		c := NewClassifier(s)
		for _, tt := range []struct {
			from  trace.Side
			text  string
			qp    uint32
			want  fault.Identity
			plain bool
		}{
			{trace.A, "WRITE_MIDDLE psn=+3 len=4", 0x10012, fault.Identity{QP: 1, Offset: 3, Type: "WRITE_MIDDLE",
				Class: fault.Data}, false},
			{trace.A, "WRITE_MIDDLE psn=-2 len=4", 0x10011, fault.Identity{QP: 0, Offset: -2, Type: "WRITE_MIDDLE",
				Class: fault.Data}, false},
			{trace.B, "ACK psn=+3 msn=1", 0x13,
				fault.Identity{QP: 2, Offset: 3, Type: "ACKNOWLEDGE", Class: fault.ACK}, false},
			{trace.B, "NAK psn=+3 msn=1 PSN_SEQ_ERR", 0x11, fault.Identity{Offset: 3, Type: "ACKNOWLEDGE",
				Class: fault.NAK}, false},
			{trace.B, "RNR psn=+3 msn=1 timer=2", 0x11, fault.Identity{Offset: 3, Type: "ACKNOWLEDGE",
				Class: fault.RNR}, false},
			{trace.B, "READ_RESP_ONLY psn=+3 msn=1 len=4", 0x11, fault.Identity{Offset: 3, Type: "READ_RESP_ONLY",
				Class: fault.ReadResponse}, false},
			{trace.B, "ATOMIC_ACK psn=+3 msn=1", 0x11, fault.Identity{Offset: 3, Type: "ATOMIC_ACK",
				Class: fault.ReadResponse}, false},
			{trace.B, "SEND_ONLY psn=+5 len=4", 0x11,
				fault.Identity{Offset: 0, Type: "SEND_ONLY", Class: fault.Data}, false},
			{trace.A, "ACK psn=+6 msn=1", 0x10011,
				fault.Identity{Offset: 1, Type: "ACKNOWLEDGE", Class: fault.ACK}, false},
			{trace.A, "SEND_ONLY psn=+0", 0x10014, fault.Identity{QP: -1, Type: "SEND_ONLY", Class: fault.Data}, false},
			{trace.A, "SEND_ONLY psn=+0", 0x10010, fault.Identity{QP: -1, Type: "SEND_ONLY", Class: fault.Data}, false},
			{trace.A, "UD_SEND_ONLY psn=+0 len=256", 1, fault.Identity{QP: -1, Offset: math.MinInt,
				Type: "UD_SEND_ONLY", Class: fault.CM}, false},
		} {
			p, err := roce.ParsePacketAt(tt.text, start)
			if err != nil {
				t.Fatal(err)
			}
			p.DestQP, tt.want.PSN = tt.qp, uint32(p.PSN)
			if got := c.Packet(tt.from, &p); got != tt.want {
				t.Errorf("start %d, %s: %+v, want %+v", start, tt.text, got, tt.want)
			}
			var f roce.Frame
			drive.Frame(&f, tt.from, 0, &p)
			if got, ok := c.Classify(FaultSide(tt.from), f.AppendTo(nil)); !ok || got != tt.want {
				t.Errorf("start %d, frame of %s: %+v, %v; want %+v", start, tt.text, got, ok, tt.want)
			}
		}
		if id, ok := c.Classify(fault.A, make([]byte, 60)); !ok || id.Type != malformed || id.QP != -1 {
			t.Error("a frame of no protocol:", id, ok)
		}
		if _, ok := c.Classify(fault.A, append(make([]byte, 12), 8, 6, 0, 0)); ok {
			t.Error("classifies what a kernel says")
		}
	}
}

func TestNoAllocation(t *testing.T) {
	c := NewClassifier(scenario.Default())
	frame := encode(t, packets[0], nil)
	if n := testing.AllocsPerRun(1000, func() { c.Classify(fault.A, frame) }); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}
