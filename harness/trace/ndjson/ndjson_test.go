package ndjson_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of this package anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got)\n%s", path, d)
	}
}

// addrs compares addresses, whose fields cmp cannot read.
var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func decode(t testing.TB, b []byte) (*trace.Header, *trace.Collector) {
	t.Helper()
	r, err := ndjson.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var k trace.Collector
	if err := r.Play(&k); err != nil {
		t.Fatal(err)
	}
	return r.Header(), &k
}

// withoutBytes returns records with the fields that NDJSON has.
func withoutBytes(records []trace.Record) []trace.Record {
	var out []trace.Record
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

func TestNDJSONRoundTrip(t *testing.T) {
	for _, text := range []string{tracetest.Gap, tracetest.Everything, tracetest.MiddleLoss, tracetest.BrokenFrames,
		tracetest.Events} {
		for _, base := range tracetest.Bases {
			f := tracetest.Parse(t, "qp param.cap=9 rto=3ms\n"+text, base)
			h, k := decode(t, tracetest.NDJSON(t, f))
			want := f.Header
			want.Bytes = false
			if d := cmp.Diff(&want, h, addrs); d != "" {
				t.Errorf("header (-want +got)\n%s", d)
			}
			if d := cmp.Diff(f.Events, k.Events); d != "" {
				t.Errorf("events (-want +got)\n%s", d)
			}
			if d := cmp.Diff(withoutBytes(f.Records), withoutBytes(k.Records), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("records (-want +got)\n%s", d)
			}
			if k.Ended != f.Until {
				t.Errorf("ends at %d, want %d", k.Ended, f.Until)
			}
		}
	}
}

// Other programs read this format: a change of the file needs a new FormatVersion.
func TestNDJSONGolden(t *testing.T) {
	f := tracetest.Parse(t, "qp rto=3ms param.cap=9\n"+tracetest.Everything, 1000)
	golden(t, "trace.ndjson", string(tracetest.NDJSON(t, f)))
}

func TestNDJSONTruncated(t *testing.T) {
	whole := tracetest.NDJSON(t, tracetest.Parse(t, tracetest.Gap, 0))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for cut := len(lines[0]) + len(lines[1]); cut < len(whole); cut += 37 {
		r, err := ndjson.NewReader(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		var k trace.Collector
		if err := r.Play(&k); !errors.Is(err, trace.ErrTruncated) {
			t.Fatalf("cut at %d: error %v", cut, err)
		}
		if n := bytes.Count(whole[:cut], []byte("\n")) - 2; len(k.Records)+len(k.Events) != n {
			t.Errorf("cut at %d: %d of %d lines", cut, len(k.Records)+len(k.Events), n)
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
		r, err := ndjson.NewReader(strings.NewReader(tc.text))
		if err == nil {
			err = r.Play(&trace.Collector{})
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestNDJSONTolerance(t *testing.T) {
	text := plainHeader +
		`{ "pkt" : "ACK psn=1 msn=1", "new":{"a":["}"]}, "sent_ps":1 ,"cause":"a\u0020\"b\"","defect":"x","list":[1,{}` +
		`] }` + "\r\n" +
		`{"end_ps":2}` + "\n"
	_, k := decode(t, []byte(text))
	if len(k.Records) != 1 || k.Records[0].Cause != `a "b"` || k.Records[0].Defect != "x" || k.Ended != 2 {
		t.Errorf("got %+v", k)
	}
}

// failing is a writer that fails after left bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestNDJSONWriterReportsError(t *testing.T) {
	f := tracetest.Parse(t, tracetest.Gap, 0)
	w, err := ndjson.NewWriter(&failing{100_000}, &f.Header)
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
	f.Add(tracetest.NDJSON(f, tracetest.Parse(f, tracetest.Everything, psn.Mask)))
	f.Add([]byte(plainHeader + `{"pkt":"ACK psn=1 msn=1","changed":{"pkt":"LOWAR"},"sent_ps":3}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ndjson.NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		var k trace.Collector
		broken := r.Play(&k)
		// a trace that was read can be written, and reads back the same
		var out bytes.Buffer
		w, err := ndjson.NewWriter(&out, r.Header())
		if err != nil {
			t.Fatal(err)
		}
		for i := range k.Records {
			w.Packet(&k.Records[i])
		}
		w.End(k.Ended)
		again, err := ndjson.NewReader(&out)
		if err != nil {
			t.Fatalf("%v; the input said %v", err, broken)
		}
		var k2 trace.Collector
		if len(k.Events) == 0 {
			if err := again.Play(&k2); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(k.Records, k2.Records, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("(-first +second)\n%s", d)
			}
		}
	})
}

func BenchmarkNDJSONWrite(b *testing.B) {
	f := tracetest.Parse(b, tracetest.Gap, 0)
	w, err := ndjson.NewWriter(io.Discard, &f.Header)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		w.Packet(&f.Records[i%4])
	}
}

func BenchmarkNDJSONRead(b *testing.B) {
	f := tracetest.Parse(b, tracetest.Gap, 0)
	var text bytes.Buffer
	w, _ := ndjson.NewWriter(&text, &f.Header)
	for i := range b.N {
		w.Packet(&f.Records[max(1, i%2)])
	}
	w.End(vtime.Time(vtime.Second))
	r, err := ndjson.NewReader(&text)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := r.Play(tracetest.Discard{}); err != nil {
		b.Fatal(err)
	}
}
