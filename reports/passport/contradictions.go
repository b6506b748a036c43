package passport

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// Contradictions lists the statements of a passport that disagree with others in it. A rule is compared with the runs
// only if the subject is at both ends, because else the runs do not tell the ends apart.
func (p *Passport) Contradictions() (out []string) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if why := p.contradicts(r); why != "" {
			out = append(out, fmt.Sprintf("%s is said to be %s, and %s", r.Name(), r.Status, why))
		}
	}
	if p.Qualified != (p.outcome() == rule.Pass) {
		out = append(out, fmt.Sprintf("qualified is %v, and the status is %q", p.Qualified, p.Status))
	}
	for _, name := range p.Unmet() {
		if p.Qualified {
			out = append(out, "it is said to be qualified, and "+name)
		}
	}
	return out
}

// contradicts returns what in the runs disagrees with the status of a rule; "" for nothing.
func (p *Passport) contradicts(r *Rule) string {
	said := func(b Beyond) bool { return b.Rule == r.ID && b.Role == r.Role }
	if p.Peer != p.Subject.Name || slices.ContainsFunc(p.Beyond, said) {
		return ""
	}
	held, broken := 0, 0
	for i := range p.Runs {
		if run := &p.Runs[i]; run.Role == r.Role {
			held += len(within(run.Verdicts[rule.Pass.String()], r.ID))
			broken += len(within(run.Verdicts[rule.Fail.String()], r.ID))
		}
	}
	switch said := Plain(r.Status); {
	case said != rule.Fail.String() && broken > 0 && r.Level != rule.Observation:
		return fmt.Sprintf("its runs have it broken in %d", broken)
	case said == rule.Fail.String() && broken == 0:
		return "no run has it broken"
	case said == rule.Pass.String() && held == 0:
		return "no run has it seen to hold"
	}
	return ""
}

// within returns the part of a sorted list that equals name, of length 0 or 1.
func within(list []string, name string) []string {
	if at, ok := slices.BinarySearch(list, name); ok {
		return list[at : at+1]
	}
	return nil
}

// Unmet lists the rules that prevent a qualification, with their statuses.
func (p *Passport) Unmet() (out []string) {
	for i := range p.Rules {
		r := &p.Rules[i]
		var s rule.Status
		if s.UnmarshalText([]byte(r.Status)) != nil {
			s = rule.Error
		}
		if r.Required && s >= rule.XPass || r.Core && s != rule.Pass && s != rule.XFail {
			out = append(out, r.Name()+" is "+r.Status)
		}
	}
	return out
}
