package site

import (
	"cmp"
	"strings"

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
		r := pairView{moved: moved{named(x.Name, x.Host), seriesPage(&x.Series, x.Host), string(x.Kind), model.FromTo(x)},
			Before: side(&x.Before, x.Unit), Now: side(&x.Now, x.Unit), BeforeRun: p.site.link(x.Before.Run), NowRun: p.site.link(x.Now.Run)}
		if t := p.find(x); t != nil {
			r.Spark = spark(until(t, c.Night))
		}
		if r.Text = ""; x.Relative != nil {
			r.Text = percent(x)
		}
		v.Pairs = append(v.Pairs, r)
	}
	v.Command = []string{"gauntlet store export " + shell(p.site.Store) + " --since " + shell(cmp.Or(first.Before.Night, c.Night)) + " --series " + shell(first.Name)}
	if words := strings.SplitN(first.Name, " ", 4); words[0] == "matrix" && len(words) == 4 {
		v.Command = append(v.Command, "gauntlet matrix --bench "+shell(first.Bench)+" --impl "+shell(words[1])+" --links "+shell(words[2]))
	}
	if c.Before != "" && c.Now != "" && c.Before != c.Now {
		v.Command = append(v.Command, "git log "+shell(c.Before+".."+c.Now))
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

// percent is by how much a number changed, and what chance makes of it.
func percent(x *change.Change) string {
	bare := *x
	bare.Before, bare.Now = change.Side{Word: "x"}, change.Side{Word: "x"}
	return strings.TrimPrefix(model.FromTo(&bare), "x → x, ")
}

// shell quotes a word for a shell.
func shell(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
