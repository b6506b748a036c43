package site

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// MaxBeside is how many pairs of runs the page of a cause shows beside each other: those of what is worst come first.
const MaxBeside = 3

// difference is the page of a cause: what was before, beside what is now.
type difference struct {
	head
	Cause     *change.Entry
	Sides     [2]sideView
	Pairs     []pairView
	Runs      []runPair
	By        bool // a number changed, and by how much is known
	Bisection []searchView
	Command   []string
	Spec      string // of the run that one of the commands makes again; "" where none is kept
}

// searchView is the log of a search for a commit.
type searchView struct {
	*model.Bisection
	Command, Series string // that finds the same commit again; the series whose values are in the steps
	Steps           []stepView
}

// stepView is a commit that was asked.
type stepView struct {
	model.BisectionStep
	Like string // what it is like; "" of one that has no value
}

// sideView is the program before, or now.
type sideView struct {
	Name, Commit, Nights string
}

// pairView is a series before and now.
type pairView struct {
	moved
	Before, Now, BeforeRun, NowRun string
	Failure                        string // page, of a new failure
	Spark                          string
}

// runPair is the run behind some series, before and now.
type runPair struct {
	Name, ID string
	Plots    *html.Pair // nil where the runs have no plot of the same requests
	Another  bool       // Spec: the plots are not of the same work
	Sheets   []sheetPair
	Numbers  []numberPair
}

// sheetPair is how a device behaved before and now.
type sheetPair struct {
	Device  string
	Differs []datasheet.Difference
	Same    int // properties
}

// numberPair is a count of a run before and now.
type numberPair struct{ Name, Before, Now string }

func newDifference(p *past, c *cause) *difference {
	first := &c.Changes[0]
	v := &difference{head: p.head("Changes of " + c.Night), Cause: &c.Entry}
	v.Sides = [2]sideView{{"Before", c.Before, first.Before.Night}, {"Now", c.Now, c.Night}}
	shown := map[[2]*history.Entry]bool{}
	for i := range c.Changes {
		x := &c.Changes[i]
		r := pairView{
			moved: moved{named(x.Name, x.Host), seriesPage(&x.Series, x.Host), string(x.Kind), model.By(x)},
			Before: side(
				&x.Before,
				x.Unit,
			),
			Now:       side(&x.Now, x.Unit),
			BeforeRun: p.site.link(x.Before.Run),
			NowRun:    p.site.link(x.Now.Run),
		}
		t := p.find(x)
		if t != nil {
			r.Spark = spark(until(t, c.Night))
			v.beside(p, t, [2]*history.Entry{entry(t, &x.Before), entry(t, &x.Now)}, shown)
		}
		if f := p.failed[r.Page]; f != nil && f.at.Night == c.Night {
			r.Failure = f.page
		}
		v.Pairs = append(v.Pairs, r)
	}
	v.By = slices.ContainsFunc(v.Pairs, func(r pairView) bool { return r.Text != "" })
	for i := range p.site.Evidence.Bisections {
		b := &p.site.Evidence.Bisections[i]
		if b.Good == c.Before && b.Bad == c.Now && slices.ContainsFunc(c.Changes, func(x change.Change) bool {
			return slices.Contains(b.Series, x.Name)
		}) {
			v.Bisection = append(v.Bisection, newSearchView(b, p.site.Store, c.Changes))
		}
	}
	v.commands(p, c)
	return v
}

// newSearchView is a search with the values as they were measured, whose last digit may be what changed.
func newSearchView(b *model.Bisection, store string, changes []change.Change) searchView {
	v := searchView{Bisection: b, Command: b.Again(store, "")}
	unit := ""
	if len(b.Series) > 0 {
		v.Series = b.Series[0]
	}
	for i := range changes {
		if x := &changes[i]; x.Name == v.Series && x.Unit != "" {
			unit = " " + x.Unit
		}
	}
	good := slices.IndexFunc(b.Steps, func(s model.BisectionStep) bool { return s.Commit == b.Good })
	for _, s := range b.Steps {
		x := stepView{BisectionStep: s, Like: "changed"}
		switch {
		case s.Value == "":
			x.Like = ""
		case good >= 0 && s.Value == b.Steps[good].Value:
			x.Like = "as before"
		}
		if s.Value != "" {
			x.Value += unit
		}
		v.Steps = append(v.Steps, x)
	}
	return v
}

// beside shows the runs of two entries beside each other, unless they are there or one of them is gone.
func (v *difference) beside(p *past, t *history.Track, sides [2]*history.Entry, shown map[[2]*history.Entry]bool) {
	a, b := p.runs.of(sides[0]), p.runs.of(sides[1])
	if a == nil || b == nil || len(v.Runs) == MaxBeside {
		return
	}
	for done := range shown {
		if p.runs.of(done[0]) == a && p.runs.of(done[1]) == b {
			return
		}
	}
	shown[sides] = true
	r := runPair{
		Name:    named(work(t.Name), t.Host),
		ID:      fmt.Sprintf("run-%d", len(v.Runs)+1),
		Another: a.Result.SpecHash != b.Result.SpecHash,
	}
	r.Plots = html.Beside(r.ID, [2]*model.Result{a.Result, b.Result}, [2]string{"Before", "Now"})
	for i, s := range b.Sheets {
		if i < len(a.Sheets) {
			differs := datasheet.Diff(a.Sheets[i], s)
			r.Sheets = append(r.Sheets, sheetPair{s.Device, differs, len(a.Sheets[i].Rows) - len(differs)})
		}
	}
	before := model.Counts(&a.Result.Summary)
	for i, n := range model.Counts(&b.Result.Summary) {
		if i < len(before) && before[i].Value != n.Value {
			r.Numbers = append(r.Numbers, numberPair{strings.TrimSuffix(n.Name, " "+n.Unit),
				value(float64(before[i].Value), n.Unit), value(float64(n.Value), n.Unit)})
		}
	}
	v.Runs = append(v.Runs, r)
}

// work is the run that a series is a quantity of, by its name.
func work(series string) string { return lastWords.ReplaceAllString(series, "$1") }

// lastWords are the quantity behind a command, who was run, and where.
var lastWords = regexp.MustCompile(`^(\S+ \S+ \S+) .*$`)

func (v *difference) commands(p *past, c *cause) {
	first := &c.Changes[0]
	v.Command = []string{
		quote.Shell("gauntlet", "store", "export", p.site.Store, "--since", cmp.Or(first.Before.Night, c.Night),
			"--series", "^"+regexp.QuoteMeta(first.Name)+"$"),
	}
	if t := p.find(first); t != nil {
		kept := p.runs.of(entry(t, &first.Now))
		if v.Command = append(v.Command, repeat(t, kept)...); kept != nil {
			v.Spec = kept.Result.Spec
		}
	}
	switch {
	case c.Commit != "":
		v.Command = append(v.Command, quote.Shell("git", "show", c.Commit))
	case strings.Contains(c.Before+c.Now, "+"): // with changes that no commit has
	case c.Before != "" && c.Now != "" && c.Before != c.Now:
		v.Command = append(v.Command, quote.Shell("git", "log", c.Before+".."+c.Now))
		if again := history.Command([]string{first.Name}); again != nil && first.Class != history.Noisy {
			b := model.Bisection{Good: c.Before, Bad: c.Now, Command: quote.Shell(again...)}
			v.Command = append(v.Command, b.Again(p.site.Store, ""))
		}
	}
}

// until are the entries of a track up to some nights behind one.
func until(t *history.Track, night string) []history.Entry {
	end := 0
	for end < len(t.Entries) && t.Entries[end].Night <= night {
		end++
	}
	end = min(end+sparkNights/3, len(t.Entries))
	return t.Entries[max(0, end-sparkNights):end]
}

func side(s *change.Side, unit string) string {
	switch {
	case s.Word != "":
		return s.Word
	case s.Value != nil:
		return value(*s.Value, unit)
	}
	return "–"
}

// fromTo says from what to what a series changed, for people.
func fromTo(x *change.Change) string {
	text := side(&x.Before, x.Unit) + " → " + side(&x.Now, x.Unit)
	if by := model.By(x); by != "" {
		text += ", " + by
	}
	return text
}
