package site

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// changesShown is how many changes of a cause the index has; its page has all.
const changesShown = 8

// index is the page of tonight.
type index struct {
	head
	Status, Sentence string
	Headers          []*history.Header // of the hosts that measured tonight
	Causes           []causeView       // of tonight
	Begun            []change.Entry    // what began anew
	Suspected        []moved
	Failing          []failure
	Gaps             []gapView
	Missing          []moved // measured the night before and not tonight
	Steps            []model.NightStep
	Notes            []string
	Earlier          []causeView // causes of the nights before
	Devices          []*device
	Series, Nights   int
	AA               []aa
}

// causeView is a cause as text.
type causeView struct {
	*cause
	Kind  change.Kind // the worst
	Count int
	Rows  []moved
}

// moved is a series with what is to be said of it.
type moved struct{ Name, Page, Kind, Text string }

// failure is a verdict of tonight that is one.
type failure struct {
	moved
	Run    string
	New    bool
	Ladder string // page that shows it
	Since  string // night
}

// aa is how often numbers of a class are called changed although nothing can have changed.
type aa struct {
	Class history.Class
	change.Self
	Rate string
}

// gapView is a host that has nothing to say of some series.
type gapView struct {
	Host, Status string
	Series       []string
}

func newIndex(p *past) *index {
	v := &index{head: p.head("Tonight"), Series: len(p.tracks), Nights: len(p.nights), Status: "PASS"}
	tonight, n := &model.Night{Changes: p.tonight}, p.site.Tonight
	if n != nil && n.Header.Night == v.Night {
		tonight.Steps = n.Steps
	}
	if v.Sentence = tonight.Sentence(); p.tonight.Worse() {
		v.Status = "FAIL"
	}
	if v.Night == "" {
		v.Sentence = "the store has no night yet"
	}
	if n != nil {
		v.told(n)
	}
	for i := range p.site.Nights {
		if n := &p.site.Nights[i]; n.Night == v.Night {
			v.Headers = append(v.Headers, &n.Header)
		}
	}
	v.changes(p)
	v.verdicts(p)
	v.gaps(p.tonight.Gaps)
	v.AA, v.Devices = newAA(p.selves), p.devices
	return v
}

// told takes in what a night tells of itself. It is the newest of the store unless it measured nothing, or a clock is
// wrong.
func (v *index) told(n *model.Night) {
	switch is := n.Header.Night; {
	case is > v.Night:
		v.Sentence = "the night " + is + " has no result; this is the one before: " + v.Sentence
	case is < v.Night:
		v.Sentence = fmt.Sprintf("%s is the newest night of the store, and %s ran last, %s: %s", v.Night, is, n.Status,
			v.Sentence)
	}
	if n.Header.Night >= v.Night || n.Status != v.Status && n.Status != "PASS" {
		v.Status = cmp.Or(n.Status, v.Status)
	}
	v.Notes = n.Notes
	for _, s := range n.Steps {
		if s.Trouble != "" || s.Left != "" {
			v.Steps = append(v.Steps, s)
		}
	}
}

// newAA is how often a commit was taken for changed beside itself, by the class of the series.
func newAA(s change.Selves) (list []aa) {
	for _, class := range change.Classes {
		if of := s[class]; of.Compared > 0 {
			list = append(list, aa{class, of, quantity.Share(float64(of.Alarms) / float64(of.Compared))})
		}
	}
	return list
}

func (v *index) changes(p *past) {
	for i := range p.causes {
		c := newCauseView(&p.causes[i])
		if c.Night == v.Night {
			v.Causes = append(v.Causes, c)
		} else if len(v.Earlier) < 30 {
			v.Earlier = append(v.Earlier, c)
		}
	}
	for _, e := range p.tonight.Entries {
		if e.Segment != "" {
			v.Begun = append(v.Begun, e)
		}
	}
	for i := range p.tonight.Suspected {
		s := &p.tonight.Suspected[i]
		v.Suspected = append(v.Suspected,
			moved{Name: named(s.Name, s.Host), Page: seriesPage(&s.Series, s.Host), Text: s.Since})
	}
}

func newCauseView(c *cause) causeView {
	v := causeView{cause: c, Kind: c.Changes[0].Kind, Count: len(c.Changes)}
	for i := range c.Changes[:min(len(c.Changes), changesShown)] {
		x := &c.Changes[i]
		v.Rows = append(v.Rows, moved{named(x.Name, x.Host), seriesPage(&x.Series, x.Host),
			string(x.Kind), fromTo(x)})
	}
	return v
}

// verdicts lists what fails tonight, the new ones first, and what was not measured.
func (v *index) verdicts(p *past) {
	var known []failure
	for i := range p.shown() {
		t := &p.tracks[i]
		e, page := t.Last(), seriesPage(&t.Series, t.Host)
		if e.Night != v.Night {
			if n := len(p.nights); n > 1 && e.Night == p.nights[n-2] {
				v.Missing = append(v.Missing, moved{Name: named(t.Name, t.Host), Page: page})
			}
			continue
		}
		if !strings.HasPrefix(e.Word, "FAIL") {
			continue
		}
		f := failure{moved: moved{Name: named(t.Name, t.Host), Page: page, Text: e.Word}, Run: p.site.link(e.Run)}
		if x := p.failed[page]; x != nil {
			f.Ladder, f.Since = x.page, x.at.Night
		}
		if m := p.marks[page]; len(m) > 0 && m[0].Night == v.Night && m[0].Kind == change.NewFailure {
			f.New = true
			v.Failing = append(v.Failing, f)
		} else {
			known = append(known, f)
		}
	}
	v.Failing = append(v.Failing, known...)
}

// gaps puts together what one host did not measure for one reason.
func (v *index) gaps(list []change.Gap) {
	at := map[[2]string]int{}
	for _, g := range list {
		k := [2]string{g.Host, g.Status}
		i, ok := at[k]
		if !ok {
			i = len(v.Gaps)
			at[k], v.Gaps = i, append(v.Gaps, gapView{Host: g.Host, Status: g.Status})
		}
		v.Gaps[i].Series = append(v.Gaps[i].Series, g.Series)
	}
}

// named is a series with its host, where that has a part.
func named(series, host string) string {
	if host == "" {
		return series
	}
	return series + " on " + host
}
