package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Entry is a point and the header of its night.
type Entry struct {
	*Header
	*Point
}

// Segment returns the conditions under which points can be compared: other conditions begin another segment. In virtual
// time the machine is not among them.
func (e *Entry) Segment() string {
	s := ""
	for _, c := range e.Conditions() {
		s += c[0] + " " + c[1] + ", "
	}
	return s
}

// Conditions returns the parts of the segment, each with its name.
func (e *Entry) Conditions() (list [][2]string) {
	if e.Bench != "sim" {
		list = [][2]string{{"kernel", e.Kernel}, {"firmware", e.Firmware}}
	}
	return append(list, [2]string{"Spec", fmt.Sprintf("%.12s", e.Spec)}, [2]string{"unit", e.Unit})
}

// Track is one series in time, on one host if it depends on the host.
type Track struct {
	Series
	Host    string // "" for an exact or paired series, which is the same on every host
	Entries []Entry
	Alarms  []Alarm // of this series and host, in order of time
}

// Last returns the newest entry.
func (t *Track) Last() *Entry { return &t.Entries[len(t.Entries)-1] }

// Before returns the newest entry before index i that is not a gap and is in the same segment; nil when there is none.
func (t *Track) Before(i int) *Entry {
	now := t.Entries[i].Segment()
	for k := i - 1; k >= 0; k-- {
		if e := &t.Entries[k]; !e.Gap() && e.Segment() == now {
			return e
		}
	}
	return nil
}

// key identifies a track.
type key struct {
	name, bench string
	class       Class
	host        string
}

// Tracks sorts the points of all nights by series and time. A point that occurs twice, because a result was added
// twice, counts once. Tracks are in the order of their names.
func Tracks(nights []Night) []Track {
	nights = slices.Clone(nights)
	slices.SortStableFunc(nights, func(a, b Night) int {
		return cmp.Or(cmp.Compare(a.Night, b.Night), cmp.Compare(a.Started, b.Started), cmp.Compare(a.Host, b.Host))
	})
	g := &gathering{tracks: map[key]*Track{}}
	for i := range nights {
		g.night(&nights[i])
	}
	slices.SortStableFunc(g.order, func(a, b *Track) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Bench, b.Bench), cmp.Compare(a.Host, b.Host))
	})
	out := make([]Track, len(g.order))
	for i, t := range g.order {
		out[i] = *t
	}
	return out
}

// gathering collects tracks from nights.
type gathering struct {
	tracks map[key]*Track
	order  []*Track
}

func (g *gathering) night(n *Night) {
	for i := range n.Points {
		p := &n.Points[i]
		host := ""
		if p.Class == Noisy {
			host = n.Host
		}
		k := key{p.Name, p.Bench, p.Class, host}
		t := g.tracks[k]
		if t == nil {
			t = &Track{Series: p.Series, Host: host}
			g.tracks[k], g.order = t, append(g.order, t)
		}
		t.add(Entry{&n.Header, p})
	}
	for _, a := range n.Alarms {
		for class := range g.tracks {
			if class.name == a.Series && class.host == a.Host && class.class == Noisy {
				g.tracks[class].Alarms = append(g.tracks[class].Alarms, a)
			}
		}
	}
}

// add appends an entry, unless the track has the same measurement already.
func (t *Track) add(e Entry) {
	for k := len(t.Entries) - 1; k >= 0 && t.Entries[k].Started == e.Started; k-- {
		if o := &t.Entries[k]; *o.Header == *e.Header && o.Spec == e.Spec && o.Same(e.Point) {
			return
		}
	}
	t.Entries = append(t.Entries, e)
}
