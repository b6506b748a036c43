package evidence

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A packet is recorded twice within atOnce, however many pass meanwhile, and not one that comes later.
func TestRepeatedAtOnce(t *testing.T) {
	var r repeated
	for i := range 1000 {
		at := vtime.Time(i) * vtime.Time(20*vtime.Nanosecond)
		if r.again(&Sighting{At: at, PSN: psn.New(uint32(i)), Opcode: roce.Acknowledge}, &copies{}) {
			t.Fatalf("packet %d repeats none", i)
		}
	}
	for _, c := range []struct {
		psn  uint32
		want bool
	}{{999, true}, {920, true}, {890, false}} {
		s := Sighting{At: vtime.Time(20 * vtime.Microsecond), PSN: psn.New(c.psn), Opcode: roce.Acknowledge}
		if got := r.again(&s, &copies{}); got != c.want {
			t.Errorf("packet %d: repeats %v, want %v", c.psn, got, c.want)
		}
	}
}

// A packet whose IPv4 identification differs from that of the one before it is another packet.
func TestRepeatedWithIdentification(t *testing.T) {
	var r repeated
	for i, c := range []struct {
		id   uint16
		want bool
	}{{7, false}, {8, false}, {7, true}, {9, false}, {9, true}} {
		s := Sighting{At: vtime.Time(i), PSN: 5, ID: c.id, Opcode: roce.Acknowledge}
		if got := r.again(&s, &copies{}); got != c.want {
			t.Errorf("packet %d, identification %d: repeats %v, want %v", i, c.id, got, c.want)
		}
	}
}

// Each duplicate draws an ACK of the newest request that is acknowledged, by a NAK of the next one perhaps. The ACK of
// a later one shows that no more of them come.
func TestACKsOfDuplicates(t *testing.T) {
	var r repeated
	var of copies
	for i, c := range []struct {
		psn        uint32
		syndrome   roce.Syndrome
		duplicates int // before the answer
		want       bool
	}{
		{9, roce.SyndromePSNSeqErr, 0, false}, {8, 0, 3, false}, {8, 0, 0, false}, {8, 0, 0, false}, {8, 0, 0, false},
		{8, 0, 0, true}, {9, 0, 2, false}, {9, 0, 0, true},
	} {
		for range c.duplicates {
			of.add(5)
		}
		s := Sighting{At: vtime.Time(i) * vtime.Time(vtime.Microsecond), PSN: psn.New(c.psn),
			Opcode: roce.Acknowledge, Syndrome: c.syndrome}
		if got := r.again(&s, &of); got != c.want {
			t.Errorf("answer %d: repeats %v, want %v", i, got, c.want)
		}
	}
}
