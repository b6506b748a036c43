package relay

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

func TestRecordLines(t *testing.T) {
	for line, want := range map[string]Record{
		"1500000 A 0 7 -3 WRITE_MIDDLE L 1508848 - 0 0 ffffffffffffffff 0 drop[2]": {
			At: 1500000, From: fault.A, PSN: 7, Offset: -3, Type: "WRITE_MIDDLE", Fate: Lost, Sent: 1508848,
			Arrive: vtime.Never, In: math.MaxUint64, Cause: "drop[2]",
		},
		"5 A -1 1 -9223372036854775808 SEND_ONLY I - 5 0 0 0 0 inject": { // of no connection, so without an offset
			At: 5, From: fault.A, QP: -1, PSN: 1, Offset: math.MinInt, Type: "SEND_ONLY", Fate: Injected,
			Sent: vtime.Never, Arrive: 5, Cause: "inject",
		},
		"-20 B -1 16777215 0 - D 98 99 2 7 1f a0 corrupt": {
			At: -20, From: fault.B, QP: -1, PSN: 1<<24 - 1, Fate: Delivered, Sent: 98, Arrive: 99, Copies: 2, Gap: 7,
			In: 0x1F, Out: 0xA0, Cause: "corrupt",
		},
	} {
		got, err := ParseRecord(line)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", line, err, diff)
		}
		if got.String() != line {
			t.Errorf("printed %q, want %q", got, line)
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := rapid.OneOf(rapid.Just(vtime.Never), rapid.Map(rapid.Int64Range(-1e15, 1e18),
			func(x int64) vtime.Time { return vtime.Time(x) }))
		word := rapid.StringMatching(`[A-Z_a-z\[\]0-9]{0,12}`)
		want := Record{
			At: instant.Draw(t, "at"), From: rapid.SampledFrom([]fault.Side{fault.A, fault.B}).Draw(t, "from"),
			QP: int(rapid.Int32().Draw(t, "qp")), PSN: rapid.Uint32Range(0, 1<<24-1).Draw(t, "psn"),
			Offset: rapid.IntRange(-1<<23, 1<<23).Draw(t, "offset"), Type: word.Draw(t, "type"),
			Fate: rapid.SampledFrom([]Fate{Delivered, Lost, Overflow, Injected}).Draw(t, "fate"),
			Sent: instant.Draw(t, "sent"), Arrive: instant.Draw(t, "arrive"),
			Copies: rapid.IntRange(0, 99).Draw(t, "copies"),
			Gap:    vtime.Duration(rapid.Int64().Draw(t, "gap")), In: rapid.Uint64().Draw(t, "in"),
			Out: rapid.Uint64().Draw(t, "out"), Cause: word.Draw(t, "cause"),
		}
		got, err := ParseRecord(want.String())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s: %v\n%s", want, err, diff)
		}
	})
}

func TestParseRecordRejects(t *testing.T) {
	for _, line := range []string{
		"", "1 A 0 7", "1 C 0 7 0 X D 1 1 0 0 0 0 -", "1 A 0 16777216 0 X D 1 1 0 0 0 0 -",
		"x A 0 7 0 X D 1 1 0 0 0 0 -",
		"1 A 0 7 0 X Q 1 1 0 0 0 0 -", "1 A 0 7 0 X DD 1 1 0 0 0 0 -", "1 A 0 -7 0 X D 1 1 0 0 0 0 - -",
		"1 A 0 7 0 X D 1 1 0 0 g 0 -",
	} {
		if r, err := ParseRecord(line); err == nil {
			t.Errorf("%q parsed as %v", line, r)
		}
	}
}

func TestReadLog(t *testing.T) {
	var log bytes.Buffer
	j := newJournal(&log)
	for i := range 5000 {
		j.add(&Record{At: vtime.Time(i), From: fault.A, Fate: Delivered})
	}
	if err := j.close(); err != nil || j.Dropped != 0 {
		t.Fatalf("close: %v, %d dropped", err, j.Dropped)
	}
	n := 0
	err := ReadLog(&log, func(r Record) error {
		if r.At != vtime.Time(n) {
			t.Fatalf("record %d is of time %d", n, r.At)
		}
		n++
		return nil
	})
	if err != nil || n != 5000 {
		t.Errorf("%d records, %v; want 5000", n, err)
	}
	if err := ReadLog(strings.NewReader("nonsense\n"), func(Record) error { return nil }); err == nil {
		t.Error("nonsense was read")
	}
}

// stuck is a writer that blocks until it is freed, and then fails.
type stuck struct{ free chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	<-s.free
	return 0, errors.New("disk full")
}

// The thread that forwards frames never waits for a disk: a record that does not fit is counted and dropped.
func TestJournalDropsRatherThanWaits(t *testing.T) {
	w := stuck{make(chan struct{})}
	j := newJournal(w)
	r := Record{From: fault.A, Fate: Lost, Type: strings.Repeat("X", 4000)}
	for range (pages + 2) * pageSize / 3500 {
		j.add(&r)
	}
	if j.Dropped == 0 {
		t.Error("nothing was dropped")
	}
	close(w.free)
	if err := j.close(); err == nil || err.Error() != "disk full" {
		t.Errorf("close: %v, want the writer's error", err)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add("1500000 A 0 7 -3 WRITE_MIDDLE L 1508848 - 0 0 1f 0 drop[2]")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := ParseRecord(line)
		if err != nil {
			return
		}
		if again, err := ParseRecord(r.String()); err != nil || again != r {
			t.Errorf("%q: %v becomes %v, %v", line, r, again, err)
		}
	})
}
