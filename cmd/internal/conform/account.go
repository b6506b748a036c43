package conform

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// account says of each rule by which soft-RoCE can be judged how the device did, or why nothing exercised the rule.
type account struct {
	scenarios []scenarios.Scenario
	ran       map[[2]string]bool          // by role and scenario
	adapters  map[string]map[string]*duty // by tool and role
	marked    map[string]*rule.Rule       // by ID
}

// duty is what a tool was there for in a role.
type duty struct {
	scenarios int
	rules     map[string]bool // that were exercised
}

func newAccount(list []scenarios.Scenario) *account {
	a := &account{scenarios: list, ran: map[[2]string]bool{}, adapters: map[string]map[string]*duty{},
		marked: map[string]*rule.Rule{}}
	for _, r := range rules.All() {
		if markedRXE(&r) {
			a.marked[r.ID] = &r
		}
	}
	return a
}

// tally counts the rules by which soft-RoCE can be judged.
type tally struct{ total, exercised int }

// String is the line below the table.
func (n tally) String() string {
	return fmt.Sprintf("%d rules can be judged on soft-RoCE: %d were exercised, %d were not exercised", n.total,
		n.exercised, n.total-n.exercised)
}

// print writes a line for each rule, by the cells of t. Short leaves out what passed.
func (a *account) print(w io.Writer, t *Table, short bool) (n tally) {
	for _, r := range rules.All() {
		if !markedRXE(&r) {
			continue
		}
		n.total++
		judged, plain := 0, true
		var states []string
		var notes []string
		for _, role := range t.Impls {
			c := t.Cell(r.ID, role)
			switch {
			case !about(&r, role):
				states = append(states, "-")
				continue
			case c == nil:
				c = &Cell{Status: rule.Inconclusive}
			}
			judged += c.Judged()
			plain = plain && c.Status == rule.Pass
			states, notes = append(states, t.painted(c.Status)), append(notes, c.note())
		}
		if judged > 0 {
			n.exercised++
		} else {
			notes = []string{a.missing(&r, t.Impls)}
		}
		if !short || !plain {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Level, strings.Join(states, "\t"), strings.Join(notes, "; "))
		}
	}
	return n
}

// markedRXE reports whether the catalogue says that soft-RoCE can be judged by a rule.
func markedRXE(r *rule.Rule) bool { return slices.Contains(strings.Split(r.BlackBox, ","), "RXE") }

// about reports whether a rule binds a role: what is seen at the requester's tap alone, or in its completions, is the
// requester's doing. What both taps have to show is either's, except that recovery by go-back-N is the requester's.
func about(r *rule.Rule, role string) bool {
	if role == device.Both {
		return true
	}
	switch taps := r.Needs & rule.Both; {
	case taps == rule.TapRequester, r.Needs&(rule.Ordered|rule.Flushed) != 0, taps == rule.Both &&
		strings.HasPrefix(r.ID, "GBN-"):
		return requests(role)
	case taps == rule.TapResponder:
		return !requests(role)
	}
	return true
}

// requests reports whether a role is that of the requester.
func requests(role string) bool {
	_, requester := device.Roles(device.Named(role))
	return role == requester
}

// missing says why nothing exercised a rule that could be: no tool plays its scenarios, or they were not selected, or
// what they are there for did not arise.
func (a *account) missing(r *rule.Rule, roles []string) string {
	for _, feature := range r.Features {
		if !slices.Contains(device.Declares(), feature) {
			return "needs " + feature + ", which none of the tools below uses"
		}
	}
	var ran, left, unfit []string
	for i := range a.scenarios {
		sc := &a.scenarios[i]
		if !slices.Contains(sc.Rules, r.ID) {
			continue
		}
		for _, role := range roles {
			err := fits(role, sc)
			switch {
			case !about(r, role):
			case a.ran[[2]string{role, sc.Name}]:
				ran = append(ran, sc.Name)
			case err == nil:
				left = append(left, sc.Name)
			default:
				unfit = append(unfit, unfitness(err)...)
			}
		}
	}
	switch {
	case len(ran) > 0:
		return "did not arise in " + listed(ran)
	case len(left) > 0:
		return "not selected: " + listed(left)
	case len(unfit) > 0:
		return "no tool does " + listed(unfit)
	}
	return "no scenario is there for " + r.Stimulus
}

// unfitness is what no tool does, of all that is wrong with a scenario.
func unfitness(err error) (list []string) {
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ": "+dut.ErrUnfit.Error())
		list = append(list, strings.TrimPrefix(line, "dut: "))
	}
	return list
}

// listed joins words, each once.
func listed(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// add notes that a scenario was run, and what the tool under which it ran was good for.
func (a *account) add(o *suite.Outcome) {
	a.ran[[2]string{o.Impl, o.Scenario}] = true
	i := slices.IndexFunc(a.scenarios, func(sc scenarios.Scenario) bool { return sc.Name == o.Scenario })
	if i < 0 || o.Status.Unproven() {
		return
	}
	for _, tool := range adapters(o.Impl, &a.scenarios[i]) {
		if a.adapters[tool] == nil {
			a.adapters[tool] = map[string]*duty{}
		}
		d := a.adapters[tool][o.Impl]
		if d == nil {
			d = &duty{rules: map[string]bool{}}
			a.adapters[tool][o.Impl] = d
		}
		d.scenarios++
		for _, v := range o.Verdicts {
			if r := a.marked[v.Rule]; r != nil && about(r, o.Impl) && !v.Status.Unproven() &&
				v.Status != rule.Inconclusive && v.Status != rule.NotApplicable {
				d.rules[v.Rule] = true
			}
		}
	}
}

// printAdapters writes a line for each tool: how many scenarios it played in each role, and how many rules they
// exercised.
func (a *account) printAdapters(w io.Writer, t *Table) {
	fmt.Fprintf(w, "\nADAPTER\t%s\n", strings.Join(t.heads(), "\t"))
	for _, tool := range slices.Sorted(maps.Keys(a.adapters)) {
		words := []string{tool}
		for _, role := range t.Impls {
			word := "-"
			if d := a.adapters[tool][role]; d != nil {
				word = fmt.Sprintf("%d scenarios, %d rules", d.scenarios, len(d.rules))
			}
			words = append(words, word)
		}
		fmt.Fprintln(w, strings.Join(words, "\t"))
	}
}
