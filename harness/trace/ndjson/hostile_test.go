package ndjson_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// The text of a trace is untrusted: names, causes and defects in it are cleaned when it is read.
func TestForeignTextIsCleaned(t *testing.T) {
	const nasty = "\x1b]0;a\a\u202e"
	f := tracetest.Parse(t, tracetest.Gap, 0)
	f.Header.Bench, f.Header.Conns[0].Ends[trace.A].Impl = nasty, nasty
	for i := range f.Records {
		f.Records[i].Cause, f.Records[i].Defect = nasty, nasty
	}
	var text bytes.Buffer
	w, err := ndjson.NewWriter(&text, &f.Header)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Records {
		w.Packet(&f.Records[i])
	}
	w.Event(&trace.Event{At: f.Records[len(f.Records)-1].Time(), Kind: trace.Count, Name: nasty})
	w.End(f.Records[len(f.Records)-1].Time())
	if err := w.Flush(); err != nil || !strings.Contains(text.String(), "]0;a") {
		t.Fatal(err, text.String())
	}
	r, err := ndjson.NewReader(&text)
	if err != nil {
		t.Fatal(err)
	}
	var got trace.Collector
	if err := r.Play(&got); err != nil {
		t.Fatal(err)
	}
	said := []string{r.Header().Bench, r.Header().Conns[0].Ends[trace.A].Impl}
	for i := range got.Records {
		said = append(said, got.Records[i].Cause, got.Records[i].Defect)
	}
	for i := range got.Events {
		said = append(said, got.Events[i].Name)
	}
	for i, s := range said {
		if want := quote.Line(nasty, quote.Sentence); s != want {
			t.Errorf("text %d of %d: %q, want %q", i, len(said), s, want)
		}
	}
}
