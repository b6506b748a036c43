package wire

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

// Packets of several connections need not be of one service.
func TestOpcodesOfSeveralConnections(t *testing.T) {
	const text = "A>B WRITE_ONLY psn=+0 len=8 A\nA>B UD_SEND_ONLY psn=+1 len=8 qkey=0x1 srcqp=17\n"
	for _, several := range []bool{false, true} {
		f, err := fixture.Parse(strings.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Conns[0].Anew = several
		j := rule.NewJudge(f.Header, []rule.Rule{opcodeRegistered}, rule.Options{})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0].Status; (got == rule.Fail) == several {
			t.Errorf("several connections %v: %v", several, got)
		}
	}
}

// Nor need they be of one partition, nor of one membership.
func TestPartitionsOfSeveralConnections(t *testing.T) {
	const text = "A>B WRITE_ONLY psn=+0 len=8 A pkey=0x7fff\nA>B WRITE_ONLY psn=+1 len=8 A pkey=0x8001\n"
	for _, several := range []bool{false, true} {
		f, err := fixture.Parse(strings.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Conns[0].Anew = several
		for s := range f.Header.Conns[0].Ends {
			f.Header.Conns[0].Ends[s].Known, f.Header.Conns[0].Ends[s].QP.PKey = false, 0xffff
		}
		j := rule.NewJudge(f.Header, []rule.Rule{bthPKey}, rule.Options{})
		f.Play(trace.NewTimeline(&f.Header, j))
		v := j.Verdicts()[0]
		if got := v.Status == rule.Fail; got == several || got && len(v.Findings) != 2 {
			t.Errorf("several connections %v: %v, %v", several, v.Status, v.Findings)
		}
	}
}

// Bits that the ICRC does not cover may have been rewritten before a tap whose place was inferred.
func TestReservedBitsBeforeATap(t *testing.T) {
	for _, inferred := range []bool{false, true} {
		f, err := fixture.Parse(strings.NewReader("A>B WRITE_ONLY psn=+0 len=8 A resv6=1\n"), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Inferred = inferred
		j := rule.NewJudge(f.Header, []rule.Rule{bthReserved}, rule.Options{})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0].Status; (got == rule.Fail) == inferred {
			t.Errorf("place inferred %v: %v", inferred, got)
		}
	}
}

// A frame of which a capture kept a part may have been damaged before a tap whose place was inferred.
func TestCutFrameBeforeATap(t *testing.T) {
	for _, inferred := range []bool{false, true} {
		f, err := fixture.Parse(strings.NewReader("A>B WRITE_ONLY psn=+0 len=8 A tver=1\n"), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Inferred, f.Header.Bytes = inferred, true
		f.Records[0].ICRC = trace.Unchecked
		j := rule.NewJudge(f.Header, []rule.Rule{bthReserved}, rule.Options{})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0].Status; (got == rule.Fail) == inferred {
			t.Errorf("place inferred %v: %v", inferred, got)
		}
	}
}

// The network may change the byte of FECN and BECN, and not the UDP checksum, which the ICRC does not cover either. It
// may damage that checksum before a tap away from the sender's port.
func TestChecksumOfAMarkedPacket(t *testing.T) {
	for _, c := range []struct{ marked, foreign, away, want bool }{
		{false, true, false, true}, {true, true, false, false}, {true, false, false, true}, {false, true, true, false},
	} {
		addr := netip.MustParseAddr("2001:db8::1")
		var ack roce.Packet
		ack.Opcode, ack.FECN = roce.Acknowledge, c.marked
		f := roce.Frame{Src: addr, Dst: addr, TTL: 64, Packet: ack}
		raw := f.AppendTo(nil)
		const checksum = 14 + 40 + 6
		raw[checksum], raw[checksum+1] = 0x12, 0x34
		if got := difference(raw, &f, c.foreign, c.away) >= 0; got != c.want {
			t.Errorf("%+v: differs %v", c, got)
		}
	}
}
