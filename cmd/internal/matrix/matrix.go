// Package matrix runs every implementation over a set of links and compares the results in one table.
//
// A link is a few lines of scenario text, in a file of links or in a file of the user. A cell is the run of an
// implementation over a link: base.txt and the link make the Spec, and package run plays it, in a run folder of its
// own. All cells have the same seed, so that in virtual time every implementation meets the same losses. Cells are
// independent: in virtual time several run at once, and their results do not depend on how many.
//
// The package also runs the engines with deliberate defects (kill.go), to show that the rules which judge the cells can
// fail.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Row is one row of the matrix: the implementations at A and at B.
type Row struct {
	Name   string // of the implementation, or "a+b"
	Folder string // the row's name in paths; "" for Name
	Impls  [2]engine.Implementation

	Ends   [2]string // in a row of Peers, the names of requester and responder
	Unfit  string    // the reason why the two cannot be run together: the cells are NOT-APPLICABLE
	Broken error     // the error for which one of them cannot be run at all: the cells are ERROR
}

// Options configure Run and Hunt.
type Options struct {
	Rows   []Row
	Links  []model.MatrixLink
	More   []string            // scenario lines for every cell
	Params map[string][]string // by name of the implementation, as name=value
	// names what a Spec needs and an implementation does not declare, "" when nothing is missing; may be nil
	Lacks  func(*scenario.Spec) string
	Place  Place    // may be nil: every Spec then runs unchanged on Bench
	Peers  []string // names of the ends, if Peers made the rows, for the table of peers
	Seed   uint64
	Bench  bench.Bench
	Name   string         // of the bench
	Link   string         // netns: "auto", "netem", "ebpf" or "relay"
	Dilate vtime.Dilation // see run.Options
	Rules  []rule.Rule
	// of known failures: of an implementation by its name, or as NAME-requester at A and NAME-responder at B
	Waivers  []waivers.Waiver
	Folder   string         // holds the run folders; "" keeps none
	Store    int            // packet records kept per run; 0 for the default of package run
	Jobs     int            // cells that run at once, at least 1
	Still    vtime.Duration // see run.Options
	Attempts int            // how often a cell is run at most until its result is not INVALID, at least 1
	Command  string
	Version  string
	Commit   string

	// Kept stores the results of cells in virtual time. A stored result is used in place of a run, and a new one is
	// stored. There are no run folders then. May be nil.
	Kept *units.Folder

	// Explain returns the text about the rules that a run breaks; may be nil.
	Explain func(ids []string) (*model.Rulebook, error)

	// Progress is called with the share of the matrix done, Done with every finished cell. Calls are not concurrent.
	// Either may be nil.
	Progress func(share float64, what string)
	Done     func(*model.Cell)
}

// Place decides how and on which bench a Spec runs with two implementations. The error is bench.ErrUnsupported when one
// of them cannot run it.
type Place func(*scenario.Spec, [2]engine.Implementation) (*scenario.Spec, bench.Bench, error)

// Limit checks the numbers of jobs, attempts and records, and sets Jobs to 1 on benches in real time, whose cells run
// one after the other. Asked tells whether the user set Jobs.
func (o *Options) Limit(asked bool) error {
	switch {
	case asked && o.Name != "sim" && o.Jobs != 1:
		return fmt.Errorf(
			"--jobs %d: cells of the %s bench run one after the other, in real time; leave it out", o.Jobs, o.Name)
	case o.Jobs < 1 || o.Attempts < 1 || o.Store < 1:
		return fmt.Errorf("--jobs %d, --attempts %d, --store %d: want 1 or more", o.Jobs, o.Attempts, o.Store)
	}
	if o.Name != "sim" {
		o.Jobs = 1
	}
	return nil
}

// Each returns a function for Done that reports how each cell ended, and how many of all cells have.
func (o *Options) Each(say func(string)) func(*model.Cell) {
	ended := 0
	return func(cell *model.Cell) {
		ended++
		say(fmt.Sprintf("%d/%d %s %s: %s", ended, len(o.Rows)*len(o.Links), cell.Impl, cell.Link, cell.Status))
	}
}

// Check builds the Spec of every cell and discards it, so that a mistake shows before anything has run.
func (o *Options) Check() error {
	taken := map[string]bool{} // names of cells, which are those of their folders too
	for i := range o.Rows {
		for _, l := range o.Links {
			if name := o.Rows[i].Name + " over " + l.Name; taken[name] {
				return fmt.Errorf("matrix: %s is there twice; name each implementation and each link once", name)
			}
			taken[o.Rows[i].Name+" over "+l.Name] = true
			if r := &o.Rows[i]; r.Unfit != "" || r.Broken != nil || r.Ends[0] != r.Ends[1] {
				continue // with peers, an error of a link shows in the row of an end with itself
			}
			if _, err := o.spec(&o.Rows[i], l); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run runs all cells. The matrix is complete even if ctx ends: cells that were not run are ERROR, with that reason.
func Run(ctx context.Context, o Options) *model.Matrix {
	started := time.Now()
	m := &model.Matrix{Format: model.FormatVersion, Version: o.Version, Commit: o.Commit,
		Started: started.UTC().Format(time.RFC3339),
		Command: o.Command, Bench: o.Name, Seed: o.Seed, Folder: o.Folder, Links: o.Links, Peers: o.Peers}
	for _, r := range o.Rows {
		m.Impls = append(m.Impls, r.Name)
	}
	m.Cells = make([]model.Cell, len(o.Rows)*len(o.Links))
	p := &progress{options: &o, shares: make([]float64, len(m.Cells))}
	Each(len(m.Cells), o.Jobs, func(i int) {
		m.Cells[i] = o.kept(ctx, i, p)
		p.done(i, &m.Cells[i])
	})
	m.Wall = time.Since(started).Seconds()
	m.Settle()
	return m
}

// Each calls f(i) for every i from 0 to n-1, at most jobs of them at once.
func Each(n, jobs int, f func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(1, jobs) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// progress sums up the progress of the cells, and calls Progress and Done under its lock.
type progress struct {
	sync.Mutex
	options *Options
	shares  []float64
}

// show records the share done of cell i.
func (p *progress) show(i int, share float64, what string) {
	p.Lock()
	defer p.Unlock()
	p.shares[i] = min(max(share, 0), 1)
	if p.options.Progress == nil {
		return
	}
	total := 0.0
	for _, s := range p.shares {
		total += s
	}
	p.options.Progress(total/float64(len(p.shares)), what)
}

// done records that cell i is finished.
func (p *progress) done(i int, c *model.Cell) {
	p.show(i, 1, c.Impl+" "+c.Link)
	p.Lock()
	defer p.Unlock()
	if p.options.Done != nil {
		p.options.Done(c)
	}
}

// spec builds the Spec of a cell, and has the implementations check their attributes and parameters.
func (o *Options) spec(row *Row, link model.MatrixLink) (*scenario.Spec, error) {
	more := append(slices.Clone(o.More), fmt.Sprintf("seed %d", o.Seed),
		fmt.Sprintf("impl %s %s", row.Impls[0].Name, row.Impls[1].Name))
	for side, impl := range row.Impls {
		if side == 0 || impl.Name != row.Impls[0].Name {
			for _, p := range o.Params[impl.Name] {
				more = append(more, "param "+p)
			}
		}
	}
	s, err := Spec(link, more)
	if err != nil {
		return nil, err
	}
	for side, impl := range row.Impls {
		if err := impl.Try(s.Ends(0)[side], &memory.Host{}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// place builds the Spec of a cell as it will run, and finds its bench.
func (o *Options) place(row *Row, link model.MatrixLink) (*scenario.Spec, bench.Bench, error) {
	s, err := o.spec(row, link)
	if err != nil || o.Place == nil {
		return s, o.Bench, err
	}
	return o.Place(s, row.Impls)
}

// cell runs cell i until its result is not INVALID, or the attempts are used up.
func (o *Options) cell(ctx context.Context, i int, p *progress) model.Cell {
	row, link := &o.Rows[i/len(o.Links)], o.Links[i%len(o.Links)]
	started := time.Now()
	c := model.Cell{Impl: row.Name, Ends: row.Ends, Link: link.Name, Status: rule.Error.String()}
	if reason, ok := o.excused(row, link); ok {
		c.Status, c.Reason = rule.NotApplicable.String(), reason
		return c
	}
	switch {
	case ctx.Err() != nil:
		c.Reason = "interrupted"
	case row.Broken != nil:
		fill(&c, nil, row.Broken)
	default:
		o.attempt(ctx, &c, row, link, func(share float64, what string) {
			p.show(i, share, fmt.Sprintf("%s %s: %s", row.Name, link.Name, what))
		})
	}
	c.Wall = time.Since(started).Seconds()
	return c
}

// attempt makes the runs of a cell and copies the last result into it.
func (o *Options) attempt(ctx context.Context, c *model.Cell, row *Row, link model.MatrixLink,
	show func(float64, string)) {
	r, err := run.Repeat(ctx, o.Attempts, func(t run.Try) (*model.Result, error) {
		c.Attempts = t.Number
		return o.once(ctx, row, link, t, show)
	})
	fill(c, r, err)
	if c.Status == rule.Invalid.String() && c.Attempts < o.Attempts && ctx.Err() != nil {
		c.Status, c.Reason = rule.Error.String(), "interrupted"
	}
	if s, _, err := o.place(row, link); err == nil && row.Ends[0] != "" {
		meet(c, row, s)
	}
}

// excused returns the reason why a cell is not run: the two ends do not fit together, or one of them does not support
// the link.
func (o *Options) excused(row *Row, link model.MatrixLink) (string, bool) {
	if row.Unfit != "" {
		return row.Unfit, true
	}
	if row.Broken != nil {
		return "", false
	}
	s, err := o.spec(row, link)
	if err != nil {
		// for two different ends, such as a parameter that only one of them has
		return err.Error(), row.Ends[0] != row.Ends[1]
	}
	if o.Lacks != nil {
		if what := o.Lacks(s); what != "" {
			return what, true
		}
	}
	if _, _, err = o.place(row, link); errors.Is(err, bench.ErrUnsupported) {
		return err.Error(), true
	}
	return "", false
}

// once makes one run of a cell.
func (o *Options) once(ctx context.Context, row *Row, link model.MatrixLink, t run.Try,
	show func(float64, string)) (*model.Result, error) {
	s, b, err := o.place(row, link)
	if err != nil {
		return nil, err
	}
	folder := ""
	if o.Folder != "" && o.Kept == nil {
		folder = run.AttemptFolder(filepath.Join(o.Folder, row.folder(), link.Name), t.Number)
	}
	return run.Execute(ctx, run.Options{
		Spec: s, Bench: b, Name: o.Name, Impls: row.Impls, Rules: o.Rules, Folder: folder, Codec: run.CodecAuto,
		Link: o.Link, Still: o.Still, Dilate: o.Dilate, Least: t.Least, Store: o.Store,
		Command: again(folder, o.Name), Version: o.Version, Commit: o.Commit, Progress: show,
		Waivers: waivers.In("", o.Waivers), Several: true, Explain: o.Explain,
	})
}

// fill copies the result of a run into its cell.
func fill(c *model.Cell, r *model.Result, err error) {
	c.Status, c.Reason = rule.Error.String(), ""
	if r != nil {
		c.State = r.State
		c.Status, c.Reason, c.SpecHash, c.Folder, c.Again = r.Status, r.Reason, r.SpecHash, r.Folder, r.Command
		c.Verdicts, c.Warnings, c.Summary, c.Broken = r.Counts(), r.Warnings, r.Summary, nil
		for _, v := range r.Verdicts {
			if v.Status == rule.Fail && v.Required {
				c.Broken = append(c.Broken, v.Rule)
			}
		}
	}
	if err != nil {
		c.Reason = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if errors.Is(err, bench.ErrUnsupported) {
		c.Status, c.Folder, c.Again = rule.NotApplicable.String(), "", "" // nothing was run
	}
}

// again returns the command that repeats the run of a folder.
func again(folder, bench string) string {
	if folder == "" {
		return ""
	}
	return fmt.Sprintf("gauntlet run %s --bench %s", filepath.Join(folder, "spec.txt"), bench)
}
