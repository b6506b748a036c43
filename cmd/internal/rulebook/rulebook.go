// Package rulebook gathers the documentation of rules: their values, the usual causes of violations, their fixtures as
// ladders, and the broken engines that they must catch.
package rulebook

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	broken "github.com/rdma-gauntlet/gauntlet/impls/broken/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// catalogue returns all rules: those about traces, and those about the judge itself.
func catalogue() []rule.Rule { return append(rules.All(), meta.Rules()...) }

// IDs returns the IDs of all rules, in the order of the catalogue.
func IDs() (ids []string) {
	for _, r := range catalogue() {
		ids = append(ids, r.ID)
	}
	return ids
}

// Of returns a rulebook of some rules, in the order of the catalogue.
func Of(ids []string) (*model.Rulebook, error) {
	b := newBook()
	caught := culprits()
	for _, r := range catalogue() {
		if !slices.Contains(ids, r.ID) {
			continue
		}
		e, err := entry(&r)
		if err != nil {
			return nil, err
		}
		e.Engines = caught[r.ID]
		family := familyOf(b, r.ID)
		family.Rules = append(family.Rules, e)
	}
	return b, nil
}

// newBook returns a rulebook without rules.
func newBook() *model.Rulebook {
	return &model.Rulebook{Format: model.FormatVersion, Version: build.Version(), Commit: build.Commit()}
}

// familyOf returns the family of a rule; it appends the family for the first rule of it.
func familyOf(b *model.Rulebook, id string) *model.RuleFamily {
	name, _, _ := strings.Cut(id, "-")
	if n := len(b.Families); n == 0 || b.Families[n-1].Name != name {
		b.Families = append(b.Families,
			model.RuleFamily{Name: name, About: cmp.Or(strings.Join(rules.About(name), " "), meta.About)})
	}
	return &b.Families[len(b.Families)-1]
}

// values returns the entry of a rule without its fixtures and engines.
func values(r *rule.Rule) model.RuleEntry {
	return model.RuleEntry{ID: r.ID, Level: r.Level, Title: r.Title, Source: r.Source, Stimulus: r.Stimulus,
		Needs:    needs(r.Needs),
		Features: r.Features, Devices: devices(r.BlackBox), RestsOn: r.RestsOn().String(), Unbuilt: r.Unbuilt,
		Causes: rules.About(r.ID), Uncaught: broken.Uncaught[r.ID]}
}

// entry returns the entry of a rule without the engines that it catches.
func entry(r *rule.Rule) (model.RuleEntry, error) {
	e := values(r)
	for _, f := range rules.Fixtures(r.ID) {
		shown := &e.Kept
		if strings.HasPrefix(f.Name, "fail") {
			shown = &e.Broken
		}
		if *shown != nil {
			e.Others = append(e.Others, f.Name)
			continue
		}
		x, err := draw(r, &f)
		if err != nil {
			return e, err
		}
		*shown = x
	}
	slices.Sort(e.Others)
	return e, nil
}

// needs lists the evidence that a rule needs, and the taps for it.
func needs(v rule.Vantage) (list []string) {
	text := (v &^ rule.Frames).String()
	if v&rule.Frames != 0 {
		list, text = append(list, "any one tap, at a port or between the ports"),
			(v &^ (rule.Frames | rule.Both)).String()
	}
	switch {
	case text != "":
		return append(list, strings.Split(text, ", ")...)
	case list == nil:
		return []string{"any tap at a port"}
	}
	return list
}

// devices lists the kinds of foreign devices that a rule can judge, by the words of Rule.BlackBox.
func devices(words string) (list []string) {
	known := map[string]string{"HW": "RNICs", "RXE": "soft-RoCE", "SIW": "soft-iWARP",
		"EMU": "standard endpoints over an emulated path",
		"ENG": "implementations that declare the features"}
	for w := range strings.SplitSeq(words, ",") {
		if said := known[w]; said != "" {
			w = said
		}
		list = append(list, w)
	}
	return list
}

// culprits returns the broken engines by the rules that must catch them.
func culprits() map[string][]model.Culprit {
	caught := map[string][]model.Culprit{}
	for _, family := range broken.Families() {
		for i := range family.Variants {
			v := &family.Variants[i]
			for _, id := range v.Catches {
				caught[id] = append(caught[id], model.Culprit{Name: v.Impl.Name, Breaks: v.Breaks})
			}
		}
	}
	return caught
}
