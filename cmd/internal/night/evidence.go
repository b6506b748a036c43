package night

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/ctr"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
	"github.com/rdma-gauntlet/gauntlet/reports/passport/seal"
	"github.com/rdma-gauntlet/gauntlet/reports/site"
)

// The kinds of documents of a store.
const (
	keptRun     = "run"       // model.KeptRun
	bisection   = "bisection" // model.Bisection
	certificate = "passport"  // an envelope of package seal
)

// mostResult bounds the result of a run, in bytes.
const mostResult = 256 << 20

// OpenRun reads the folder of a run, with the datasheets of its trace; nil where there is none that can be read.
func OpenRun(ctx context.Context, folder string) *model.KeptRun {
	path := filepath.Join(folder, "result.json")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostResult {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	k := &model.KeptRun{Format: model.FormatVersion, Run: folder}
	if json.Unmarshal(text, &k.Result) != nil || k.Result == nil || k.Result.Format != model.FormatVersion {
		return nil
	}
	k.Result = model.Extract(k.Result)
	if _, err := os.Stat(filepath.Join(folder, "trace.ndjson")); err == nil {
		k.Sheets, _ = run.Sheets(ctx, ctr.Rules(), folder) // without a trace there are none
	}
	return k
}

// Documents reads what a store keeps beside its nights, and names what it cannot read. Documents of other kinds are of
// newer programs, and passed over. Whose a passport is, nobody asks here: its signature is checked against the key that
// it names.
func Documents(ctx context.Context, dir string) (e site.Evidence, skipped []store.Skipped, err error) {
	e.Open = func(run string) *model.KeptRun { return OpenRun(ctx, run) }
	list, skipped, err := store.Documents(dir)
	for i := range list {
		if err := take(ctx, &list[i], &e); err != nil {
			skipped = append(skipped, store.Skipped{File: list[i].Path, Why: err.Error()})
		}
	}
	return e, skipped, err
}

// take decodes a document of a kind into the evidence.
func take(ctx context.Context, d *store.Document, e *site.Evidence) error {
	switch d.Kind {
	case keptRun:
		return decoded(d.Text, &e.Kept)
	case bisection:
		return decoded(d.Text, &e.Bisections)
	case certificate:
		return passported(ctx, d.Text, &e.Passports)
	}
	return nil
}

// decoded reads a document into a list, unless it has a format that this program does not know.
func decoded[T any](text []byte, into *[]T) error {
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if err := store.Readable(head.Format, model.FormatVersion); err != nil {
		return err
	}
	var x T
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	*into = append(*into, x)
	return nil
}

// passported reads a passport whose signature is of the key that it names.
func passported(ctx context.Context, text []byte, into *[]*passport.Passport) error {
	s, err := seal.Open(text)
	if err != nil {
		return err
	}
	if err := s.Verify(ctx); err != nil {
		return err
	}
	p, err := passport.Decode(s.Payload)
	if err == nil {
		*into = append(*into, p)
	}
	return err
}

// KeepRuns puts into a store what pages of its newest night show of runs whose folders are there, as these may be gone
// when the pages are made again.
func KeepRuns(dir string, s *site.Site) error {
	for _, k := range s.Uses() {
		if err := keepRun(dir, k); err != nil {
			return err
		}
	}
	return nil
}

func keepRun(dir string, k *model.KeptRun) error {
	text, err := json.Marshal(k)
	if err == nil {
		_, err = store.Keep(dir, keptRun, append(text, '\n'))
	}
	return err
}

// KeepBisection puts the log of a search into a store.
func KeepBisection(dir string, b *model.Bisection) error {
	text, err := json.Marshal(b)
	if err == nil {
		_, err = store.Keep(dir, bisection, append(text, '\n'))
	}
	return err
}

// KeepFile puts a passport or a bisection into a store, and says whether the file is one.
func KeepFile(ctx context.Context, dir, file string) (kept string, is bool, err error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > seal.Limit {
		return "", false, nil // what else it may be, its reader says
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, nil
	}
	var all []*passport.Passport
	var b model.Bisection
	switch {
	case bytes.Contains(text, []byte(`"payloadType"`)):
		if err := passported(ctx, text, &all); err != nil {
			return "", true, fault.Usage(fmt.Errorf("store: %s: %w", quote.Line(file, quote.Sentence), err))
		}
		kept, err = store.Keep(dir, certificate, text)
	case json.Unmarshal(text, &b) == nil && b.Format == model.FormatVersion && b.Good != "" && b.Last != "":
		kept, err = store.Keep(dir, bisection, text)
	default:
		return "", false, nil
	}
	return kept, true, fault.Broken(err)
}
