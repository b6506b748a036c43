package fault

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func set(t testing.TB, script ...string) *Set {
	t.Helper()
	var faults []Fault
	for _, line := range script {
		f, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	s, err := NewSet(faults)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start is a start PSN just before the wrap, so that offsets and PSNs differ.
const start = 1<<24 - 3

func data(qp, offset int) Identity {
	return Identity{QP: qp, PSN: uint32(start+offset) & (1<<24 - 1), Offset: offset, Type: "WRITE_MIDDLE", Class: Data}
}

func nak(offset int) Identity {
	return Identity{PSN: uint32(start+offset) & (1<<24 - 1), Offset: offset, Type: "NAK", Class: NAK}
}

// Each character of packets is one packet: a digit is the data packet with that offset, n a NAK. The character below it
// in want is the index of the fault that is the cause, or a dot.
func TestWhichPackets(t *testing.T) {
	tests := []struct{ script, packets, want string }{
		{"drop A psn=+2 tx=1", "01234234", "..0....."},
		{"drop A psn=+2 tx=2", "01234234", ".....0.."},
		{"drop A psn=+2", "01234234", "..0....."},
		{"drop A psn=+2 count=*", "012342342", "..0..0..0"},
		{"drop A psn=+2..+4 tx=1", "0123451234", "..000....."},
		{"drop A psn=+2..+3", "2222", "00.."},
		{"drop A", "0123", "0..."},
		{"drop A count=2", "0123", "00.."},
		{"drop A count=*", "0123", "0000"},
		{"drop A tx=2", "01230123", "....0000"},
		{"drop A tx=2 count=1", "01230123", "....0..."},
		{"drop A tx=2 nth=3", "01230123", "......0."},
		{"drop A nth=3", "012301", "..0..."},
		{"drop A nth=3 count=2", "012301", "..00.."},
		{"drop A nth=3 count=*", "012301", "..0000"},
		{"drop A type=NAK nth=1", "01n2n", "..0.."},
		{"drop A type=NAK nth=2", "01n2n", "....0"},
		{"drop A type=WRITE_MIDDLE nth=2", "0n1", "..0"},
		{"drop A type=DATA count=*", "0n1n", "0.0."},
		{"drop A qp=1", "012", "..."},
		{"drop B count=*", "0n1", "..."},
		{"drop A psn=+1,mark A psn=+2", "012", ".01"},
		{"mark A count=*,drop A psn=+1", "012", "010"},            // the gravest action is the cause
		{"drop A psn=+1 tx=1,drop A psn=+1 tx=2", "0111", ".01."}, // both count packets that the other drops
		{"drop A nth=2,drop A nth=2", "0123", ".0.."},
	}
	for _, tt := range tests {
		s := set(t, strings.Split(tt.script, ",")...)
		got := ""
		for _, p := range tt.packets {
			id := nak(0)
			if p != 'n' {
				id = data(0, int(p-'0'))
			}
			if d := s.Decide(A, id); d.Action == "" {
				got += "."
			} else {
				got += fmt.Sprint(d.Fault)
			}
		}
		if got != tt.want {
			t.Errorf("%s\n     %s\ngot  %s\nwant %s", tt.script, tt.packets, got, tt.want)
		}
	}
}

// Every QP, side and type has transmission counts of its own.
func TestTransmissionsAreKeptApart(t *testing.T) {
	s := set(t, "drop A psn=+2 tx=1", "drop B psn=+2 tx=2")
	for i, tt := range []struct {
		from Side
		id   Identity
		want bool
	}{
		{A, data(0, 2), true}, {A, data(1, 2), true}, {A, data(0, 2), false}, {A, data(1, 2), false},
		{B, data(0, 2), false}, {B, nak(2), false}, {B, data(0, 2), true}, {B, nak(2), true},
	} {
		if got := s.Decide(tt.from, tt.id).Drop; got != tt.want {
			t.Errorf("packet %d, %s %+v: drop %v, want %v", i, tt.from, tt.id, got, tt.want)
		}
	}
	if s.Fired(0) != 2 || s.Fired(1) != 2 || s.Fired(2) != 0 {
		t.Errorf("fired %d and %d times, want 2 and 2", s.Fired(0), s.Fired(1))
	}
}

func TestDecision(t *testing.T) {
	s := set(t,
		"delay A count=* by=1us", "delay A count=* by=2us", "dup A count=*", "dup A count=* copies=2 by=3us",
		"reorder A count=* behind=2", "mark A count=*", "rewrite A count=* field=ttl value=3",
		"rewrite A count=* field=tos value=1",
		"corrupt A count=* field=psn", "corrupt A count=* field=icrc")
	want := Decision{Action: Corrupt, Fault: 8, Copies: 3, Gap: 3 * vtime.Microsecond, Delay: 3 * vtime.Microsecond,
		Behind: 2, Corrupt: PSN, Rewrite: TTL, Value: 3, Mark: true}
	if d := cmp.Diff(want, s.Decide(A, data(0, 0))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff(Decision{}, s.Decide(B, data(0, 0))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// The largest number of faults, each of the largest size, gives a delay and a number of copies within bounds.
func TestDecisionIsBounded(t *testing.T) {
	script := []string{"dup A copies=64", "dup A copies=64"}
	for len(script) < MaxFaults {
		script = append(script, "delay A by=600s")
	}
	d := set(t, script...).Decide(A, data(0, 0))
	if want := (MaxFaults - 2) * MaxBy; d.Delay != want || d.Copies != MaxCopies {
		t.Errorf("delay %s and %d copies, want %s and %d", d.Delay, d.Copies, want, MaxCopies)
	}
}

func TestNewSetRefuses(t *testing.T) {
	if _, err := NewSet([]Fault{{Action: Drop, From: A}, {}}); err == nil || !strings.HasPrefix(err.Error(),
		"fault 1: unknown action") {
		t.Errorf("invalid fault: %v", err)
	}
	if _, err := NewSet(make([]Fault, MaxFaults+1)); err == nil {
		t.Error("accepts any number of faults")
	}
}

func TestCheckTypes(t *testing.T) {
	s := set(t, "drop A type=NAK", "drop A", "drop A type=WRITE_FRIST")
	if err := s.CheckTypes([]string{"WRITE_FRIST"}); err != nil {
		t.Error(err)
	}
	want := `fault 2: unknown type "WRITE_FRIST"; known are DATA, ACK, NAK, RNR, READ_RESP, CM, FEC, WRITE_FIRST`
	if err := s.CheckTypes([]string{"WRITE_FIRST"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A Tally is bounded, reports when it forgets, and forgets the oldest transmission.
func TestTallyIsBounded(t *testing.T) {
	var y Tally
	for i := range MaxTracked + 1 {
		y.Next(A, 0, uint32(i), "")
	}
	if len(y.count) != MaxTracked || y.Forgotten() != 1 {
		t.Errorf("remembers %d packets, forgot %d; want %d and 1", len(y.count), y.Forgotten(), MaxTracked)
	}
	if n := y.Next(A, 0, 1, ""); n != 2 {
		t.Errorf("transmission %d of a remembered packet, want 2", n)
	}
	if n := y.Next(A, 0, 0, ""); n != 1 {
		t.Errorf("transmission %d of a forgotten packet, want 1", n)
	}
}

// Packets that no fault can match are not stored.
func TestOnlyCandidatesAreTracked(t *testing.T) {
	s := set(t, "drop A psn=+2 tx=3")
	for i := range 1000 {
		s.Decide(A, data(0, i))
		s.Decide(B, data(0, i))
	}
	if n := len(s.tally.count); n != 1 {
		t.Errorf("tracks %d packets, want 1", n)
	}
}

func TestNoAllocation(t *testing.T) {
	s := set(t, "drop A psn=+2 tx=1", "drop A type=NAK nth=100000", "mark A count=*")
	i := 0
	if n := testing.AllocsPerRun(1000, func() { s.Decide(A, data(0, i%8)); i++ }); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	s := set(b, "drop A psn=+2 tx=1", "drop A psn=+2 tx=2", "drop B type=NAK nth=1")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Decide(A, data(0, i&1023))
	}
}

// BenchmarkDecideTracked counts the transmissions of every packet, as "drop A tx=2" requires.
func BenchmarkDecideTracked(b *testing.B) {
	s := set(b, "drop A tx=1000000")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Decide(A, data(0, i&1023))
	}
}
