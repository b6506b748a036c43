package passport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// subject describes the implementation or device that was judged. Of the environment it includes only the facts about
// the device.
func subject(q *model.Qualification) passport.Subject {
	c := &q.Capabilities[0]
	s := passport.Subject{Name: registry.Short(q.Subject), Kind: passport.Engine, Title: c.Title, Version: q.Version,
		Declares: c.Features}
	switch {
	case dut.Known(q.Subject):
		s.Kind, s.Version = passport.Device, ""
	case strings.HasPrefix(q.Subject, scenario.Image):
		s.Kind, s.Version = passport.Image, said(c)
	case scenario.Foreign(q.Subject):
		s.Kind, s.Version = passport.Program, said(c)
	}
	if s.Kind != passport.Device {
		return s
	}
	of := map[string]*string{"vendor": &s.Vendor, "part": &s.Part, "firmware": &s.Firmware, "driver": &s.Driver,
		"kernel": &s.Kernel}
	for _, f := range q.Environment {
		for name, into := range of {
			if *into == "" && (f.Name == name || f.Name == name+" at A" || f.Name == name+" at B") {
				*into = f.Value
			}
		}
	}
	return s
}

// said returns the version that a program reports.
func said(c *model.Capabilities) string {
	m, _ := c.Said.(map[string]any)
	version, _ := m["version"].(string)
	return version
}

// public returns the title of a profile that comes with the program. Any other title is its author's text and stays
// private.
func public(q *model.Qualification) string {
	if p, err := profiles.Find(q.Profile); err == nil && p.Hash() == q.ProfileHash {
		return p.Title
	}
	return ""
}

// targets returns the measured numbers of a qualification.
func targets(q *model.Qualification) (out []passport.Target) {
	if q.Targets == nil {
		return nil
	}
	for _, c := range q.Targets.Claims {
		for _, n := range c.Measured {
			t := passport.Target{Claim: c.ID, Name: n.Title(), Unit: n.Unit, Low: n.Low, High: n.High, Status: n.Status}
			if e := n.Estimate; e != nil {
				t.Value, t.Least, t.Most, t.N = &e.Value, e.Low, e.High, e.N
			}
			out = append(out, t)
		}
	}
	return out
}

// waived returns the waivers of a qualification. Owner and reason are included only of waivers that come with the
// program, because those are public.
func waived(q *model.Qualification) (out []passport.Waiver) {
	shipped, _ := waivers.ReadAll(waivers.Names()) // tests read them all
	for _, w := range q.Waivers {
		o := passport.Waiver{Rule: w.Rule, Expires: w.Expires, Status: w.Status}
		same := func(s waivers.Waiver) bool { return s.Rule == w.Rule && s.Owner == w.Owner && s.Reason == w.Reason }
		if slices.ContainsFunc(shipped, same) {
			o.Owner, o.Reason = w.Owner, w.Reason
		} else if !clean(o.Rule) {
			o.Rule = "" // the pattern has words that are not part of rule IDs
		}
		out = append(out, o)
	}
	return out
}

// clean reports whether a pattern consists of the characters of rule IDs and wildcards.
func clean(pattern string) bool {
	return strings.Trim(pattern, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-*?[]") == ""
}

// tell returns the description of the lab in a qualification.
func tell(q *model.Qualification) *passport.Lab {
	l := &passport.Lab{Command: q.Command, Folder: q.Folder, Subject: q.Subject, Reasons: q.Reasons,
		Environment: map[string]string{}}
	for _, f := range q.Environment {
		l.Environment[f.Name] = f.Value
	}
	for i := range q.Rules {
		if text := cmp.Or(q.Rules[i].Finding, q.Rules[i].Reason); text != "" {
			l.Findings = append(l.Findings, q.Rules[i].Rule+": "+text)
		}
	}
	for _, w := range q.Waivers {
		l.Waivers = append(l.Waivers, fmt.Sprintf("%s for %s: %s: %s", w.Rule, w.Impl, w.Owner, w.Reason))
	}
	return l
}
