package site

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// Bounds of the pages of devices.
const (
	maxDevices  = 50
	maxVersions = 8 // of firmware, the newest
)

// device is one whose firmware is known: by passports, or by nights of a host.
type device struct {
	page, name string
	passports  []*passport.Passport // in the order in which they were made
	host       string               // "" of one that has passports
	firmware   []string             // that nights of the host name, the oldest first
}

// Page and Name are for the index.
func (d *device) Page() string { return d.page }

// Name is what people call it.
func (d *device) Name() string { return d.name }

// Versions is how many columns its page has.
func (d *device) Versions() int {
	return min(max(len(d.passports), len(d.firmware)), maxVersions)
}

// devices are those of passports, and the hosts whose nights name a firmware.
func devices(p *past) (list []*device) {
	find := func(key, name string) *device {
		page := "device-" + digest(key) + ".html"
		i := slices.IndexFunc(list, func(d *device) bool { return d.page == page })
		if i < 0 && len(list) < maxDevices {
			i, list = len(list), append(list, &device{page: page, name: name})
		}
		if i < 0 {
			return nil
		}
		return list[i]
	}
	for _, x := range p.site.Evidence.Passports {
		s := &x.Subject
		if s.Kind != passport.Device {
			continue
		}
		name := strings.Join(strings.Fields(s.Name+" "+s.Vendor+" "+s.Part), " ")
		if d := find("passport "+name, name); d != nil {
			d.passports = append(d.passports, x)
		}
	}
	for i := range p.site.Nights {
		n := &p.site.Nights[i]
		if n.Firmware == "" {
			continue
		}
		if d := find("host "+n.Host, "Device of "+n.Host); d != nil && !slices.Contains(d.firmware, n.Firmware) {
			d.host, d.firmware = n.Host, append(d.firmware, n.Firmware)
		}
	}
	for _, d := range list {
		slices.SortStableFunc(d.passports, func(a, b *passport.Passport) int { return cmp.Compare(a.Made, b.Made) })
		d.passports = d.passports[max(0, len(d.passports)-maxVersions):]
		d.firmware = d.firmware[max(0, len(d.firmware)-maxVersions):]
	}
	return list
}

// devicePage is a device over its versions of firmware.
type devicePage struct {
	head
	Columns  []column
	Verdicts sheet
	Figures  sheet
	Counters sheet
	ByNight  bool // the columns are of nights, and the figures have a spread over these
}

// part is a section of the page.
type part struct {
	Title, Of string
	Columns   []column
	Sheet     *sheet
}

// Parts are the sections that have anything in them.
func (v *devicePage) Parts() (list []part) {
	rule := "rule"
	if v.ByNight {
		rule = "series"
	}
	for _, x := range []part{{"Verdicts", rule, v.Columns, &v.Verdicts}, {"Figures", "figure", v.Columns, &v.Figures},
		{"Counters", "counter", v.Columns, &v.Counters}} {
		if len(x.Sheet.Differ)+len(x.Sheet.Same) > 0 {
			list = append(list, x)
		}
	}
	return list
}

// column is a version of firmware.
type column struct{ Firmware, Since, Says string }

// sheet is rows of which some differ between two columns that are beside each other.
type sheet struct {
	Differ, Same []sheetRow
}

type sheetRow struct {
	Name, Page string // Page is that of the series; "" of what a passport says
	Cells      []sheetCell
}

type sheetCell struct {
	Value, Status string // Status is that of a verdict, as a class
	Detail        string // "" of one that has no spread
	Badge         bool   // it is a verdict
	Changed       bool   // it is another than that of the column before
}

// add puts a row where it belongs. Same says whether two values count as the same.
func (s *sheet) add(r sheetRow, same func(i int) bool) {
	cells, differs := r.Cells, false
	for i := 1; i < len(cells); i++ {
		cells[i].Changed = !same(i)
		differs = differs || cells[i].Changed
	}
	if differs {
		s.Differ = append(s.Differ, r)
	} else {
		s.Same = append(s.Same, r)
	}
}

func newDevicePage(p *past, d *device) *devicePage {
	v := &devicePage{head: p.head(d.name)}
	if len(d.passports) > 0 {
		v.certified(d.passports)
	} else {
		v.nightly(p, d)
	}
	return v
}

// certified fills in what passports say, a column each.
func (v *devicePage) certified(list []*passport.Passport) {
	var rules, figures, counters []string
	for _, x := range list {
		s := &x.Subject
		firmware := cmp.Or(s.Firmware, strings.TrimSpace("kernel "+s.Kernel))
		v.Columns = append(
			v.Columns,
			column{firmware, fmt.Sprintf("%.10s", x.Made), x.Verdict() + " for " + x.Profile.Name},
		)
		for i := range x.Rules {
			rules = append(rules, x.Rules[i].Name())
		}
		for i := range x.Sheet {
			figures = append(figures, x.Sheet[i].Name)
		}
		for i := range x.Counters {
			counters = append(counters, x.Counters[i].Name)
		}
	}
	v.Verdicts.rows(rules, list, func(x *passport.Passport, name string) sheetCell {
		if r := x.Find(name); r != nil {
			return sheetCell{Value: r.Status, Status: slug(r.Status), Badge: true}
		}
		return sheetCell{Value: "–"}
	}, nil)
	figure := func(x *passport.Passport, name string) *passport.Figure {
		if i := slices.IndexFunc(x.Sheet, func(f passport.Figure) bool { return f.Name == name }); i >= 0 {
			return &x.Sheet[i]
		}
		return nil
	}
	v.Figures.rows(figures, list, func(x *passport.Passport, name string) sheetCell {
		return sheetCell{Value: passport.Shown(figure(x, name))}
	}, func(a, b *passport.Passport, name string) bool {
		x, y := figure(a, name), figure(b, name)
		return x == nil && y == nil || x != nil && y != nil && x.Same(y)
	})
	v.Counters.rows(counters, list, func(x *passport.Passport, name string) sheetCell {
		if i := slices.IndexFunc(x.Counters, func(c passport.Counter) bool { return c.Name == name }); i >= 0 {
			return sheetCell{Value: x.Counters[i].String()}
		}
		return sheetCell{Value: "–"}
	}, nil)
}

// rows makes a row of each name, in the order in which the names come first.
func (s *sheet) rows(names []string, list []*passport.Passport, of func(*passport.Passport, string) sheetCell,
	same func(a, b *passport.Passport, name string) bool) {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		var cells []sheetCell
		for _, x := range list {
			cells = append(cells, of(x, name))
		}
		s.add(sheetRow{Name: name, Cells: cells}, func(i int) bool {
			if same != nil {
				return same(list[i-1], list[i], name)
			}
			return cells[i-1].Value == cells[i].Value
		})
	}
}

// nightly fills in what nights of a host measured, a column for each firmware.
func (v *devicePage) nightly(p *past, d *device) {
	v.ByNight = true
	for _, f := range d.firmware {
		c := column{Firmware: f}
		nights := 0
		for i := range p.site.Nights {
			if n := &p.site.Nights[i]; n.Host == d.host && n.Firmware == f {
				if nights++; c.Since == "" || n.Night < c.Since {
					c.Since = n.Night
				}
			}
		}
		c.Says = quantity.Plural(int64(nights), "night", "nights")
		v.Columns = append(v.Columns, c)
	}
	var figures []measured
	for i := range p.tracks {
		if t := &p.tracks[i]; t.Bench != "sim" {
			figures = append(figures, v.track(t, d)...)
		}
	}
	v.figures(figures)
}

// measured is a number of a device, by the firmware.
type measured struct {
	*history.Track
	cells []sheetCell
	spans []span
}

// track adds the row of a series of verdicts, the last of each firmware with how many nights failed, or returns the
// medians and spreads of a number.
func (v *devicePage) track(t *history.Track, d *device) []measured {
	cells, spans, seen := make([]sheetCell, len(d.firmware)), make([]span, len(d.firmware)), false
	for k, f := range d.firmware {
		s := &spans[k]
		for i := range t.Entries {
			if e := &t.Entries[i]; e.Host == d.host && e.Firmware == f && !e.Gap() {
				s.take(e)
			}
		}
		cells[k] = s.cell(t.Unit)
		seen = seen || s.nights > 0
	}
	if seen && t.Last().Word != "" {
		r := sheetRow{t.Name, seriesPage(&t.Series, t.Host), cells}
		v.Verdicts.add(r, func(i int) bool {
			return spans[i-1].nights == 0 || spans[i].nights == 0 || spans[i-1].word == spans[i].word
		})
	} else if seen {
		return []measured{{t, cells, spans}}
	}
	return nil
}

// falseDifferences is how many of the numbers in real time that are called different are not, on average and at most.
const falseDifferences = 0.05

// figures adds the rows of numbers. Any difference of a number that repeats is one; nights in real time differ by
// themselves, so there all numbers and versions are tested together.
func (v *devicePage) figures(list []measured) {
	var at [][2]int // row and column
	var p []float64
	for k, m := range list {
		for i := 1; i < len(m.spans) && m.Class == history.Noisy; i++ {
			if old, now := m.spans[i-1].values, m.spans[i].values; len(old) > 0 && len(now) > 0 {
				at, p = append(at, [2]int{k, i}), append(p, stats.RankTest(old, now))
			}
		}
	}
	stand, _ := stats.Discoveries(p, falseDifferences)
	for k, m := range list {
		r := sheetRow{m.Name, seriesPage(&m.Series, m.Host), m.cells}
		v.Figures.add(r, func(i int) bool {
			if m.Class == history.Noisy {
				tested := slices.Index(at, [2]int{k, i})
				return tested < 0 || !stand[tested]
			}
			return m.spans[i-1].meets(&m.spans[i])
		})
	}
}

// span is what nights with one firmware have of a series.
type span struct {
	nights, failed int
	word           string // the last verdict
	values         []float64
}

func (s *span) take(e *history.Entry) {
	if s.nights++; e.Word == "" {
		s.values = append(s.values, e.Value())
		return
	}
	if s.word = e.Word; strings.HasPrefix(e.Word, rule.Fail.String()) {
		s.failed++
	}
}

func (s *span) cell(unit string) sheetCell {
	switch {
	case s.nights == 0:
		return sheetCell{Value: "–"}
	case s.word != "":
		c := sheetCell{Value: s.word, Status: slug(s.word), Badge: true}
		if s.failed > 0 && s.failed < s.nights {
			c.Value += fmt.Sprintf(", failed in %d of %d nights", s.failed, s.nights)
		}
		return c
	}
	c := sheetCell{Value: value(stats.Median(s.values), unit)}
	if low, high := value(slices.Min(s.values), unit), value(slices.Max(s.values), unit); low != high {
		c.Detail = low + " to " + high
	}
	return c
}

// meets reports whether two spreads have a value in common, so that the numbers may be the same. What was not measured
// is not known to differ.
func (s *span) meets(o *span) bool {
	if len(s.values) == 0 || len(o.values) == 0 {
		return true
	}
	return slices.Min(s.values) <= slices.Max(o.values) && slices.Min(o.values) <= slices.Max(s.values)
}
