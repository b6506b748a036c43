package site

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// difference is the page of a cause: what was before, beside what is now.
type difference struct {
	head
	Sides   [2]sideView
	Pairs   []pairView
	Command []string
}

// sideView is the program before, or now.
type sideView struct {
	Name, Commit, Nights string
}

// pairView is a series before and now.
type pairView struct {
	moved
	Before, Now, BeforeRun, NowRun string
	Spark                          string
}

func newDifference(p *past, c *cause) *difference {
	first := &c.Changes[0]
	v := &difference{head: p.head("Changes of " + c.Night)}
	v.Sides = [2]sideView{{"Before", c.Before, first.Before.Night}, {"Now", c.Now, c.Night}}
	for i := range c.Changes {
		x := &c.Changes[i]
		r := pairView{moved: moved{named(x.Name, x.Host), seriesPage(&x.Series, x.Host), string(x.Kind), model.By(x)},
			Before: side(&x.Before, x.Unit), Now: side(&x.Now, x.Unit), BeforeRun: p.site.link(x.Before.Run),
			NowRun: p.site.link(x.Now.Run)}
		if t := p.find(x); t != nil {
			r.Spark = spark(until(t, c.Night))
		}
		v.Pairs = append(v.Pairs, r)
	}
	v.Command = []string{quote.Shell("gauntlet", "store", "export", p.site.Store, "--since",
		cmp.Or(first.Before.Night, c.Night),
		"--series", "^"+regexp.QuoteMeta(first.Name)+"$")}
	if words := strings.SplitN(first.Name, " ", 4); words[0] == "matrix" && len(words) == 4 {
		v.Command = append(v.Command, quote.Shell("gauntlet", "matrix", "--bench", first.Bench, "--impl", words[1],
			"--links", words[2]))
	}
	if c.Before != "" && c.Now != "" && c.Before != c.Now {
		v.Command = append(v.Command, quote.Shell("git", "log", c.Before+".."+c.Now))
	}
	return v
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
