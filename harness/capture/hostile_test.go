package capture_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// Comments of a capture are untrusted: a cause of a fate in them is cleaned when it is read.
func TestForeignCommentIsCleaned(t *testing.T) {
	const nasty = "\x1b]0;a\a\u202e"
	dir := t.TempDir()
	f := tracetest.Parse(t, tracetest.Gap, 0)
	for i := range f.Records {
		f.Records[i].Cause = nasty
	}
	tracetest.WriteTaps(t, f, dir, trace.A)
	file, err := os.Open(filepath.Join(dir, "A.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	_, err = capture.Reunite(r.Header(), []capture.Source{r}, func(_ uint64, rec *trace.Record) bool {
		if records++; rec.Cause != quote.Line(nasty, quote.Sentence) {
			t.Errorf("record %d: cause %q", records, rec.Cause)
		}
		return true
	})
	if err != nil || records == 0 {
		t.Errorf("%d records, %v", records, err)
	}
}
