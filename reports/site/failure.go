package site

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Bounds of the failures that have a page, and of what each shows.
const (
	maxFailures = 200 // the newest
	maxBroken   = 12  // rules
)

// failing is a verdict that is a failure, on the night on which it began.
type failing struct {
	page  string
	track *history.Track
	at    *history.Entry
	was   string // the verdict before, under the same conditions; "" when there was none
	cause *cause // nil when nothing was there to be compared with
}

// failures notes those that began in the nights of the store, and those of tonight that had nothing to be compared with
// when they began.
func (p *past) failures() {
	for i := range p.causes {
		c := &p.causes[i]
		for k := range c.Changes {
			x := &c.Changes[k]
			if t := p.find(x); t != nil && x.Kind == change.NewFailure {
				p.fail(t, entry(t, &x.Now), x.Before.Word, c)
			}
		}
	}
	for i := range p.shown() {
		t := &p.tracks[i]
		if e := t.Last(); e.Night == p.tonight.Night && strings.HasPrefix(e.Word, rule.Fail.String()) {
			first, was := since(t), ""
			if before := t.Before(first); before != nil {
				was = before.Word
			}
			p.fail(t, &t.Entries[first], was, nil)
		}
	}
}

// since is the index of the first night of the failure that a track ends with. Gaps do not end a failure, another
// verdict or another Spec does.
func since(t *history.Track) int {
	last, first := t.Last(), len(t.Entries)-1
	for i, e := range slices.Backward(t.Entries) {
		switch {
		case e.Gap():
		case e.Word != last.Word || e.Spec != last.Spec:
			return first
		default:
			first = i
		}
	}
	return first
}

// fail gives a failure a page, unless its series has one.
func (p *past) fail(t *history.Track, e *history.Entry, was string, c *cause) {
	series := seriesPage(&t.Series, t.Host)
	if e == nil || len(p.failed) == maxFailures || c == nil && p.failed[series] != nil {
		return
	}
	f := &failing{page: "failure-" + digest(series, e.Night) + ".html", track: t, at: e, was: was, cause: c}
	if slices.ContainsFunc(p.list, func(o *failing) bool { return o.page == f.page }) {
		return
	}
	if p.failed[series] == nil {
		p.failed[series] = f
	}
	p.list = append(p.list, f)
}

// entry is that of a side of a change; of a level that several nights have, its last.
func entry(t *history.Track, s *change.Side) (found *history.Entry) {
	for i := range t.Entries {
		e := &t.Entries[i]
		switch {
		case e.Gap():
		case s.Night != "" && e.Night == s.Night && e.Run == s.Run && e.Commit == s.Commit:
			return e
		case s.Night == "" && e.Commit == s.Commit:
			found = e
		}
	}
	return found
}

// failurePage is the page of a failure.
type failurePage struct {
	head
	Series, SeriesPage, CausePage string
	Word, Was                     string
	At                            *history.Header
	Bench, Run                    string
	Kept                          *model.Result // nil when the run is gone
	Rules                         []brokenRule
	More                          int // rules that are left out
	Command                       []string
}

// brokenRule is a rule with its first finding.
type brokenRule struct {
	*rule.Verdict
	First  *rule.Finding
	Ladder []html.Rung
	Names  string // the rule, of a run that is gone
}

func newFailurePage(p *past, f *failing) *failurePage {
	t := f.track
	v := &failurePage{
		head:       p.head("Failure of " + f.at.Night),
		Series:     named(t.Name, t.Host),
		SeriesPage: seriesPage(&t.Series, t.Host),
		Word:       f.at.Word,
		Was:        f.was,
		At:         f.at.Header,
		Bench:      t.Bench,
		Run:        p.site.link(f.at.Run),
	}
	if f.cause != nil {
		v.CausePage = f.cause.Page
	}
	kept := p.runs.of(f.at)
	if kept != nil {
		v.Kept = kept.Result
		v.broken(kept.Result)
	} else {
		for _, id := range strings.Fields(f.at.Word)[1:] {
			v.Rules = append(v.Rules, brokenRule{Names: id})
		}
	}
	if v.More = max(0, len(v.Rules)-maxBroken); v.More > 0 {
		v.Rules = v.Rules[:maxBroken]
	}
	v.Command = repeat(t, kept)
	for i := range v.Rules {
		r := &v.Rules[i]
		if id := r.Names; r.Verdict != nil || id != "" {
			if r.Verdict != nil {
				id = r.Rule
			}
			v.Command = append(v.Command, quote.Shell("gauntlet", "explain", id))
		}
	}
	return v
}

// broken takes in what a result says is broken, required rules first.
func (v *failurePage) broken(r *model.Result) {
	for i := range r.Verdicts {
		x := &r.Verdicts[i]
		if x.Status != rule.Fail && x.Status != rule.XPass {
			continue
		}
		b := brokenRule{Verdict: x}
		if len(x.Findings) > 0 {
			b.First = &x.Findings[0]
		}
		for _, l := range r.Ladders {
			if l.Rule == x.Rule && l.Finding == 0 {
				b.Ladder = html.Rungs(l.Text)
			}
		}
		v.Rules = append(v.Rules, b)
	}
	slices.SortStableFunc(v.Rules, func(a, b brokenRule) int {
		required := func(r bool) int {
			if r {
				return 0
			}
			return 1
		}
		return cmp.Compare(required(a.Required), required(b.Required))
	})
}

// specName is the Spec in the folder of a run.
const specName = "spec.txt"

// repeat is the command that makes a run again: that of the run, or what the name of the series tells of it. The Spec
// that it reads is called spec.txt, without the folder of the run, which readers do not have: the page shows it.
func repeat(t *history.Track, kept *model.KeptRun) []string {
	if kept != nil && kept.Result.Command != "" {
		r := kept.Result
		return []string{strings.ReplaceAll(r.Command, filepath.Join(r.Folder, specName), specName)}
	}
	if words := history.Command([]string{t.Name}); words != nil {
		return []string{quote.Shell(append([]string{"gauntlet"}, append(words, "--bench", t.Bench)...)...)}
	}
	return nil
}
