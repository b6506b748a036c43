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

// account lists, for each rule that soft-RoCE can be judged by, how a device did, or why no scenario exercised the
// rule.
type account struct {
	scenarios []scenarios.Scenario
	ran       map[[2]string]bool          // by role and scenario
	adapters  map[string]map[string]*duty // by tool and role
	marked    map[string]*rule.Rule       // the rules that soft-RoCE can be judged by, by ID
}

// duty counts the work of a tool in a role.
type duty struct {
	scenarios int
	rules     map[string]bool // IDs of the rules exercised
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

// tally counts the rules that soft-RoCE can be judged by.
type tally struct{ total, exercised int }

// String returns the line below the table.
func (n tally) String() string {
	return fmt.Sprintf("%d rules can be judged on soft-RoCE: %d were exercised, %d were not exercised", n.total,
		n.exercised, n.total-n.exercised)
}

// print writes a line for each rule, from the cells of t. Short leaves out rules that passed.
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

// markedRXE reports whether the catalogue marks a rule as one that soft-RoCE can be judged by.
func markedRXE(r *rule.Rule) bool { return slices.Contains(strings.Split(r.BlackBox, ","), "RXE") }

// about reports whether a rule binds a role. A rule that needs only the requester's tap, or its completions, binds the
// requester; one that needs only the responder's tap binds the responder. Every other rule binds both, except
// that rules of GBN, recovery by go-back-N, which need both taps, bind the requester.
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

// missing returns the reason why no scenario exercised a rule: its scenarios ran and the stimulus did not arise, they
// were not selected, or no tool can play them.
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

// unfitness lists the parts of a scenario that no tool can play, from the error of fits.
func unfitness(err error) (list []string) {
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ": "+dut.ErrUnfit.Error())
		list = append(list, strings.TrimPrefix(line, "dut: "))
	}
	return list
}

// listed joins the words, sorted and without repetitions.
func listed(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// add notes that a scenario was run, and credits its tools with the rules that it exercised.
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

// printAdapters writes a line for each tool: the number of scenarios that it played in each role, and the number of
// rules that they exercised.
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
