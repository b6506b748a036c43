// Package qualify judges an implementation or a device for a profile: it plays the scenarios of the profile's families
// by package conform, measures its targets beside a reference, and puts both into a qualification, with a folder of
// everything that says so.
//
// A Session goes through its steps once: New, Register, Open, Play, Verdict. What a qualification looks like is for
// reports.
package qualify

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/junit"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options say who is qualified for what.
type Options struct {
	Conform conform.Options // one implementation, or a device; what is selected is the profile's
	Profile profiles.Profile
	Folder  string // of the report
	Seeds   int    // of the runs of a target
	Command string // for the report: how to repeat all of it
}

// mostSeeds bounds the runs of a target: on a real bench each takes seconds.
const mostSeeds = 100

// Find looks at the options, and finds the profile of a name or a file.
func (o *Options) Find(profile string) (err error) {
	k := &o.Conform
	switch {
	case profile == "":
		return fmt.Errorf("--profile: want one of %s, or a file such as ./mine.txt",
			strings.Join(profiles.Names(), " "))
	case k.Impl == "" && k.Device == "" && k.Hosted.File == "" || strings.Contains(k.Impl, ","):
		return fmt.Errorf("--impl %q: want one implementation, or --dut %s, or --testbed FILE", k.Impl, dut.Name)
	case o.Seeds < 1 || o.Seeds > mostSeeds || k.Attempts < 1:
		return fmt.Errorf("--seeds %d, --attempts %d: want 1 or more, and %d seeds at most", o.Seeds,
			k.Attempts, mostSeeds)
	}
	o.Profile, err = profiles.Find(profile)
	return err
}

// Session is one qualification.
type Session struct {
	options  Options
	started  time.Time
	session  *conform.Session // that plays the scenarios
	evidence *Evidence
}

// New finds who is to be judged.
func New(o Options) (*Session, error) {
	started := time.Now()
	o.Conform.Select = suite.Options{LabelFilter: o.Profile.Filter()}
	o.Conform.Folder = filepath.Join(o.Folder, "scenarios")
	played, err := conform.New(o.Conform)
	if err != nil {
		return nil, err
	}
	played.View = Own(&played.Options)
	return &Session{options: o, started: started, session: played}, nil
}

// Register selects the scenarios of the profile, and refuses who does not declare what it is about.
func (s *Session) Register(waived []rule.Waiver) error {
	if err := s.session.Register(waived); err != nil {
		return err
	}
	s.evidence = NewEvidence(&s.options.Profile, s.session)
	s.session.Judged, s.session.Ended = s.evidence.Judged, s.evidence.Ended
	return fault.Usage(s.evidence.Eligible())
}

// Open opens the bench and makes the report folder. One that holds a qualification is not overwritten.
func (s *Session) Open() error {
	if err := s.session.Runner.Open(); err != nil {
		return err
	}
	dir := s.options.Folder
	if _, err := os.Stat(filepath.Join(dir, "qualification.json")); err == nil {
		return fault.Usage(fmt.Errorf("qualify: %s %w a qualification; choose another folder or remove it",
			dir, run.ErrHeld))
	}
	return fault.Broken(os.MkdirAll(dir, 0o755))
}

// Play runs the scenarios. Progress hears after each how much of them is done.
func (s *Session) Play(progress func(share float64, what string)) error {
	return s.session.Play(progress)
}

// Verdict measures the targets and puts everything together. When ctx has ended, nobody is qualified.
func (s *Session) Verdict(ctx context.Context,
	progress func(share float64, what string)) (*model.Qualification, error) {
	q := s.evidence.Qualification()
	q.Command, q.Folder = s.options.Command, s.options.Folder
	if err := Measure(ctx, &s.options.Profile, s.session, s.options.Seeds, q, progress); err != nil {
		return nil, err
	}
	q.Started, q.Wall = s.started.UTC().Format(time.RFC3339), time.Since(s.started).Seconds()
	q.Settle()
	if ctx.Err() != nil || s.session.Table.Done < len(s.session.Specs) {
		if q.Qualified = false; q.Status != rule.Fail.String() {
			q.Status = rule.Error.String()
		}
		q.Reasons = append(q.Reasons, "interrupted before all scenarios and targets had been run")
	}
	return q, nil
}

// Own is a View of a session that leaves what an outcome says of the subject alone: with another implementation at B,
// what that breaks is not the subject's doing. The peer of a device is the reference itself, or the device again.
func Own(c *conform.Options) func(*suite.Outcome) *suite.Outcome {
	return func(o *suite.Outcome) *suite.Outcome {
		if c.Device != "" || c.Peer == "" || c.Peer == c.Impl {
			return o
		}
		return o.Of(trace.A)
	}
}

// subject is the name of who is judged.
func subject(c *conform.Options) string { return cmp.Or(c.Impl, c.Device) }

// Write writes the documents of the report folder.
func Write(q *model.Qualification) error {
	return document.Folder(q.Folder, []document.Document{
		{Name: "qualification.json", Write: func(w io.Writer) error { return document.JSON(w, q) }},
		{Name: "qualification.html", Write: func(w io.Writer) error { return html.Qualification(w, q) }},
		{Name: "junit.xml", Write: func(w io.Writer) error { return junit.Qualification(w, q) }},
		{Name: "capabilities.json", Write: func(w io.Writer) error { return document.JSON(w, q.Capabilities) }},
	})
}
