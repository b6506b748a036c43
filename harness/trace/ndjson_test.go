package trace

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// keeper is a sink that keeps everything.
type keeper struct {
	records []Record
	events  []Event
	end     vtime.Time
}

func (k *keeper) Packet(r *Record)  { k.records = append(k.records, *r.Clone()) }
func (k *keeper) Event(e *Event)    { k.events = append(k.events, *e) }
func (k *keeper) End(at vtime.Time) { k.end = at }

func encode(t testing.TB, f *Fixture) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, &f.Header)
	if err != nil {
		t.Fatal(err)
	}
	f.Play(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t testing.TB, b []byte) (*Header, *keeper) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var k keeper
	if err := r.Play(&k); err != nil {
		t.Fatal(err)
	}
	return r.Header(), &k
}

// withoutBytes is what remains of a record in NDJSON.
func withoutBytes(records []Record) []Record {
	var out []Record
	for i := range records {
		r := *records[i].Clone()
		r.Raw, r.Packet.Payload, r.Packet.Pad = nil, nil, 0
		if c := r.Changed; c != nil {
			c.Raw, c.Packet.Payload, c.Packet.Pad = nil, nil, 0
		}
		out = append(out, r)
	}
	return out
}

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestNDJSONRoundTrip(t *testing.T) {
	for _, text := range []string{gap, everything, middleLoss, brokenFrames, eventsText} {
		for _, base := range bases {
			f := mustFixture(t, "qp param.cap=9 rto=3ms\n"+text, base)
			h, k := decode(t, encode(t, f))
			want := f.Header
			want.Bytes = false
			if d := cmp.Diff(&want, h, addrs); d != "" {
				t.Errorf("header (-want +got)\n%s", d)
			}
			if d := cmp.Diff(f.Events, k.events); d != "" {
				t.Errorf("events (-want +got)\n%s", d)
			}
			if d := cmp.Diff(withoutBytes(f.Records), withoutBytes(k.records), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("records (-want +got)\n%s", d)
			}
			if k.end != f.Until {
				t.Errorf("ends at %d, want %d", k.end, f.Until)
			}
		}
	}
}

// The form is a contract with other programs: a change of this file needs a new FormatVersion.
func TestNDJSONGolden(t *testing.T) {
	f := mustFixture(t, "qp rto=3ms param.cap=9\n"+everything, 1000)
	golden(t, "trace.ndjson", string(encode(t, f)))
}

func TestNDJSONTruncated(t *testing.T) {
	whole := encode(t, mustFixture(t, gap, 0))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for cut := len(lines[0]) + len(lines[1]); cut < len(whole); cut += 37 {
		r, err := NewReader(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		var k keeper
		if err := r.Play(&k); !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut at %d: error %v", cut, err)
		}
		if n := bytes.Count(whole[:cut], []byte("\n")) - 2; len(k.records)+len(k.events) != n {
			t.Errorf("cut at %d: %d of %d lines", cut, len(k.records)+len(k.events), n)
		}
	}
}

const plainHeader = `{"gauntlet":"trace","version":1,"bench":"sim","taps":"AB","reports":["cqe"],"conns":0}` + "\n"

func TestNDJSONReaderErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "line 1: cut short"},
		{"hello\n", "is it a gauntlet trace?"},
		{"{}\n", "no gauntlet trace header"},
		{`{"gauntlet":"trace","version":9}` + "\n", "version 9; this program reads version 1"},
		{`{"gauntlet":"trace","version":1,"conns":-1}` + "\n", "-1 connections"},
		{`{"gauntlet":"trace","version":1,"conns":1}` + "\n" + `{"conn":3}` + "\n", "line 2: connection 3"},
		{`{"gauntlet":"trace","version":1,"conns":1}` + "\n[]\n", "line 2"},
		{plainHeader + "{\n", "line 2: not a JSON object"},
		{plainHeader + "{}\n", "line 2: time"},
		{plainHeader + `{"what":1}` + "\n", "neither a packet"},
		{plainHeader + `{"pkt":"ACK psn=1 msn=1","sent_ps":x}` + "\n", "sent_ps: bad value"},
		{plainHeader + `{"pkt":"NOTHING","sent_ps":1}` + "\n", "line 2: packet"},
		{plainHeader + `{"pkt":"ACK psn=1 msn=1"}` + "\n", "missing"},
		{plainHeader + `{"pkt":"ACK psn=1 msn=1","sent_ps":1,"changed":{"sum":-1}}` + "\n", "changed sum"},
		{plainHeader + `{"pkt":"ACK psn=1 msn=1","sent_ps":1,"conn":7}` + "\n", "connection 7 of 0"},
		{plainHeader + `{"event":"cqe","at_ps":5}` + "\n" + `{"event":"cqe","at_ps":4}` + "\n", "line 3: time 4 ps"},
		{plainHeader + `{"event":"dance","at_ps":5}` + "\n", "event: bad value"},
		{plainHeader + strings.Repeat("x", 70000) + "\n", "line 2: longer than 65536 bytes"},
	} {
		r, err := NewReader(strings.NewReader(tc.text))
		if err == nil {
			err = r.Play(&keeper{})
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestNDJSONTolerance(t *testing.T) {
	text := plainHeader +
		`{ "pkt" : "ACK psn=1 msn=1", "new":{"a":["}"]}, "sent_ps":1 ,"cause":"a\u0020\"b\"","defect":"x","list":[1,{}] }` + "\r\n" +
		`{"end_ps":2}` + "\n"
	_, k := decode(t, []byte(text))
	if len(k.records) != 1 || k.records[0].Cause != `a "b"` || k.records[0].Defect != "x" || k.end != 2 {
		t.Errorf("got %+v", k)
	}
}

// failing is a writer that breaks after a while.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestNDJSONWriterReportsError(t *testing.T) {
	f := mustFixture(t, gap, 0)
	w, err := NewWriter(&failing{100_000}, &f.Header)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		w.Packet(&f.Records[0])
	}
	w.End(0)
	if err := w.Flush(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, mustFixture(f, everything, psn.Mask)))
	f.Add([]byte(plainHeader + `{"pkt":"ACK psn=1 msn=1","changed":{"pkt":"LOWAR"},"sent_ps":3}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		var k keeper
		broken := r.Play(&k)
		// What was read can be written, and reads back the same.
		var out bytes.Buffer
		w, err := NewWriter(&out, r.Header())
		if err != nil {
			t.Fatal(err)
		}
		for i := range k.records {
			w.Packet(&k.records[i])
		}
		w.End(k.end)
		again, err := NewReader(&out)
		if err != nil {
			t.Fatalf("%v; the input said %v", err, broken)
		}
		var k2 keeper
		if len(k.events) == 0 {
			if err := again.Play(&k2); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(k.records, k2.records, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("(-first +second)\n%s", d)
			}
		}
	})
}

func BenchmarkNDJSONWrite(b *testing.B) {
	f := mustFixture(b, gap, 0)
	w, err := NewWriter(io.Discard, &f.Header)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		w.Packet(&f.Records[i%4])
	}
}

func BenchmarkNDJSONRead(b *testing.B) {
	f := mustFixture(b, gap, 0)
	var text bytes.Buffer
	w, _ := NewWriter(&text, &f.Header)
	for i := range b.N {
		w.Packet(&f.Records[max(1, i%2)])
	}
	w.End(vtime.Time(vtime.Second))
	r, err := NewReader(&text)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := r.Play(sinkFuncs{}); err != nil {
		b.Fatal(err)
	}
}
