// Package qualify judges an implementation or a device by a profile: package conform plays the scenarios of the
// profile's families, this package measures the profile's targets beside a reference, and a qualification sums up both,
// with a report folder as evidence.
//
// A Session goes through its steps once: New, Register, Open, Play, Verdict. The look of a qualification is for package
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
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/junit"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options configure a Session.
type Options struct {
	Conform conform.Options // one implementation or device; New selects the scenarios
	Profile profiles.Profile
	Folder  string // of the report
	Seeds   int    // runs per target
	Command string // for the report: the command that repeats the qualification
}

// mostSeeds bounds the runs per target: on a real bench each takes seconds.
const mostSeeds = 100

// Find checks the options, and finds the profile by a name or in a file.
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
	session  *conform.Session // plays the scenarios
	evidence *Evidence
}

// New finds the implementation or device to judge.
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

// Register selects the scenarios of the profile. It returns an error when the subject is not eligible.
func (s *Session) Register(waived []waivers.Waiver) error {
	if err := s.session.Register(waived); err != nil {
		return err
	}
	s.evidence = NewEvidence(&s.options.Profile, s.session)
	s.session.Judged, s.session.Ended = s.evidence.Judged, s.evidence.Ended
	return fault.Usage(s.evidence.Eligible())
}

// Open opens the bench and makes the report folder. It refuses a folder that holds a qualification.
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

// Play runs the scenarios. It calls progress after each with the share done.
func (s *Session) Play(progress func(share float64, what string)) error {
	return s.session.Play(progress)
}

// Verdict measures the targets and settles the qualification. If ctx has ended, the subject does not qualify.
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

// Own returns a View for a session that keeps the part of an outcome that concerns the subject: with another
// implementation at B, violations of that one do not count against the subject. Outcomes of a device are kept whole,
// because its peer is the reference or the device itself.
func Own(c *conform.Options) func(*suite.Outcome) *suite.Outcome {
	return func(o *suite.Outcome) *suite.Outcome {
		if c.Device != "" || c.Peer == "" || c.Peer == c.Impl {
			return o
		}
		return o.Of(trace.A)
	}
}

// subject returns the name of the implementation or device that is judged.
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
