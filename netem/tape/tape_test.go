package tape

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const timed = `gauntlet-tape 1
key time 10us
model burst p=0.0001 h=1 len=8
seed 7
length 100000
lost 17..24
lost 311
end 9
`

const identified = `gauntlet-tape 1
key identity
seed 0
lost qp=0 psn=-1 tx=1
lost qp=0 psn=+2 tx=1 class=DATA
lost qp=0 psn=+2 tx=2 class=DATA
end 3
`

func parse(t *testing.T, text string) *Tape {
	t.Helper()
	tape, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

func text(t *testing.T, tape *Tape) string {
	t.Helper()
	var b bytes.Buffer
	n, err := tape.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo = %d, %v for %d bytes", n, err, b.Len())
	}
	return b.String()
}

func TestParse(t *testing.T) {
	want := &Tape{Key: ByTime, Slot: 10 * vtime.Microsecond, Model: "burst p=0.0001 h=1 len=8", Seed: 7, Length: 100000,
		Spans: []Span{{17, 24}, {311, 311}}}
	if d := cmp.Diff(want, parse(t, timed)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for _, s := range []string{timed, identified} {
		if got := text(t, parse(t, s)); got != s {
			t.Errorf("printed\n%s\nwant\n%s", got, s)
		}
	}
}

// Each edit of a good tape is refused with the number of its line.
func TestParseErrors(t *testing.T) {
	tests := []struct{ text, old, new, want string }{
		{timed, "gauntlet-tape 1", "gauntlet-tape 2", `tape: line 1: version "2": this program reads version 1`},
		{timed, "gauntlet-tape 1", "pcap", `tape: line 1: "pcap": want a line that begins with "gauntlet-tape"`},
		{timed, "key time 10us", "key time", "tape: line 2: key time with slot 0s"},
		{timed, "key time 10us", "key index 10us", "tape: line 2: key index with slot 10us"},
		{timed, "key time 10us", "key colour", `tape: line 2: key "colour" is unknown`},
		{timed, "key time 10us", "key time 10", `tape: line 2: duration "10"`},
		{timed, "seed 7", "seed x", `tape: line 4: "seed x": want seed and a whole number`},
		{timed, "length 100000", "len 5", `tape: line 5: "len 5": want length`},
		{timed, "lost 311", "lost 24", "tape: line 7: lost 24: out of order"},
		{timed, "lost 311", "lost 100000", "tape: line 7: lost 100000: out of order, or not below length 100000"},
		{timed, "lost 311", "lost 9..8", "tape: line 7: lost 9..8: out of order"},
		{timed, "lost 311", "lost -1", `tape: line 7: lost "-1": want a number`},
		{timed, "lost 311", "", `tape: line 7: "": want lost or end`},
		{timed, "lost 311\n", "", "tape: line 7: end 9, but 8 are lost above; the file is damaged"},
		{timed, "end 9\n", "", "tape: line 8: the tape ends early"},
		{timed, "end 9\n", "end 9\nend 9\n", `tape: line 9: "end 9": nothing may follow end`},
		{identified, "tx=1\n", "tx=0\n", "tape: line 4: lost"},
		{identified, "psn=+2 tx=2", "psn=2 tx=2", "tape: line 6: lost"},
		{identified, "psn=+2 tx=2", "psn=+1 tx=2", "tape: line 6: lost qp=0 psn=+1 tx=2 class=DATA: out of order"},
		{identified, "tx=2 class=DATA", "tx=2 class=DATA x", "tape: line 6: lost"},
	}
	for _, tt := range tests {
		_, err := Parse(strings.NewReader(strings.Replace(tt.text, tt.old, tt.new, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q -> %q:\n got %v\nwant %s", tt.old, tt.new, err, tt.want)
		}
	}
	if _, err := Parse(strings.NewReader(timed[:8] + strings.Repeat("x", 1<<17))); err == nil {
		t.Error("accepts an endless line")
	}
}

func TestPlayByTime(t *testing.T) {
	p := parse(t, timed).Player()
	tests := []struct {
		at   vtime.Duration
		want bool
	}{
		{0, false}, {169 * vtime.Microsecond, false}, {170 * vtime.Microsecond, true}, {170 * vtime.Microsecond, true},
		{249 * vtime.Microsecond, true}, {250 * vtime.Microsecond, false}, {3115 * vtime.Microsecond, true},
		{3120 * vtime.Microsecond, false}, {vtime.Second, false},
	}
	for _, tt := range tests {
		if got := p.Lose(vtime.Time(tt.at)); got != tt.want {
			t.Errorf("at %v: lost %v, want %v", tt.at, got, tt.want)
		}
	}
	if p.Beyond() != 1 {
		t.Errorf("Beyond = %d, want 1", p.Beyond())
	}
}

func TestPlayByIdentity(t *testing.T) {
	p := parse(t, identified).Player()
	tests := []struct {
		id   ID
		want bool
	}{
		{ID{0, 2, 1, "DATA"}, true},
		{ID{0, 2, 2, "DATA"}, true},
		{ID{0, 2, 3, "DATA"}, false},
		{ID{0, 2, 1, "ACK"}, false},
		{ID{1, 2, 1, "DATA"}, false},
		{ID{0, -1, 1, "ACK"}, true}, // the entry has no class
	}
	for _, tt := range tests {
		if got := p.Lost(tt.id); got != tt.want {
			t.Errorf("%s: lost %v, want %v", tt.id, got, tt.want)
		}
	}
	if p.Lose(0) {
		t.Error("loses by index what is keyed by identity")
	}
}

// Recording any decisions, writing, reading and playing them gives the same decisions.
func TestRecordedRunsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lost := rapid.SliceOfN(rapid.Bool(), 1, 200).Draw(t, "lost")
		key := rapid.SampledFrom([]Key{ByIndex, ByTime}).Draw(t, "key")
		slot := vtime.Duration(0)
		if key == ByTime {
			slot = vtime.Microsecond
		}
		rec, err := NewRecorder(key, slot, "random p=0.5", 3)
		if err != nil {
			t.Fatal(err)
		}
		at := func(i int) vtime.Time { return vtime.Time(i) * vtime.Time(vtime.Microsecond) }
		for i, l := range lost {
			rec.Note(at(i), l)
		}
		tape, err := rec.Tape()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := tape.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		p := again.Player()
		for i, l := range lost {
			if p.Lose(at(i)) != l {
				t.Fatalf("packet %d of %v differs", i, lost)
			}
		}
	})
}

func TestRecordIdentities(t *testing.T) {
	rec, err := NewRecorder(ByIdentity, 0, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []ID{{0, 2, 2, "DATA"}, {0, -1, 1, ""}, {0, 2, 1, "DATA"}, {0, 2, 1, "DATA"}} {
		rec.Lost(id)
	}
	tape, err := rec.Tape()
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, tape); got != identified {
		t.Errorf("recorded\n%s\nwant\n%s", got, identified)
	}
}

func TestRecorderIsBounded(t *testing.T) {
	rec, err := NewRecorder(ByIndex, 0, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*MaxEntries + 2 {
		rec.Note(0, i%2 == 0)
	}
	if _, err := rec.Tape(); err == nil {
		t.Error("keeps more spans than MaxEntries without an error")
	}
	if _, err := NewRecorder("colour", 0, "", 0); err == nil {
		t.Error("accepts an unknown key")
	}
}

func TestValidate(t *testing.T) {
	for _, tape := range []Tape{
		{Key: ByIndex, Length: 5, Spans: []Span{{3, 5}}},
		{Key: ByIndex, Length: 5, Spans: []Span{{2, 3}, {3, 4}}},
		{Key: ByIndex, IDs: []ID{{Tx: 1}}},
		{Key: ByIdentity, Length: 1},
		{Key: ByIdentity, IDs: []ID{{Tx: 0}}},
		{Key: ByIdentity, IDs: []ID{{Tx: 2}, {Tx: 1}}},
		{Key: ByIndex, Model: "a\nb"},
	} {
		if err := tape.Validate(); err == nil {
			t.Errorf("Validate accepts %+v", tape)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(timed)
	f.Add(identified)
	f.Fuzz(func(t *testing.T, s string) {
		tape, err := Parse(strings.NewReader(s))
		if err != nil {
			return
		}
		if d := cmp.Diff(tape, parse(t, text(t, tape))); d != "" {
			t.Errorf("reads back differently:\n%s", d)
		}
	})
}

func BenchmarkPlay(b *testing.B) {
	t := &Tape{Key: ByIndex, Length: 1 << 40}
	for i := range uint64(MaxEntries) {
		t.Spans = append(t.Spans, Span{i * 1000, i*1000 + 7})
	}
	p := t.Player()
	b.ReportAllocs()
	for b.Loop() {
		p.Lose(0)
	}
}
