package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Capabilities is the declaration of a program, its first line. An operation or feature that it does not declare is not
// run, and the rules that need it are NOT-APPLICABLE; a declared one is judged. Lists are words with a space between
// them.
type Capabilities struct {
	Contract int    `json:"contract"`
	Program  string `json:"program"` // a short name for reports
	Version  string `json:"version"` // of the program

	// as requester: SEND SEND_IMM SEND_INV WRITE WRITE_IMM READ CMP_SWAP FETCH_ADD
	Operations string `json:"operations"`
	Serves     string `json:"serves"`   // as responder: the same
	MTUs       string `json:"mtus"`     // 256 512 1024 2048 4096
	Recovery   string `json:"recovery"` // recovery scheme: one of Recoveries
	Features   string `json:"features"` // words of Features
	Params     string `json:"params"`   // names of the parameters of its scheme
	MaxQPs     int    `json:"max_qps"`

	// Reports lists the reports that the program makes beside the packets on the wire. "cqe": posted, receive,
	// completed and received lines. "datagrams": declared and lost lines too, and the sender of each message. "memory":
	// it answers verify. "file": it writes these reports, as a trace in NDJSON,
	// to the file that setup names.
	Reports string `json:"reports"`
}

// ofName is what a name has to be, for the errors of those that are not.
var ofName = fmt.Sprintf("1 to %d letters that print, and no marker that a CI system obeys", quote.Name)

// named reports whether s can be shown as a name.
func named(s string) bool { return s != "" && len(s) <= quote.Name && quote.Clean(s) }

// check returns the first error of the declaration.
func (c *Capabilities) check() error {
	switch {
	case c.Contract != Version:
		return fmt.Errorf("capabilities: contract %d; this bench speaks version %d", c.Contract, Version)
	case !named(c.Program) || strings.ContainsAny(c.Program, " ,"):
		return fmt.Errorf("capabilities: program %.20q; want a name without spaces: %s", c.Program, ofName)
	case !named(c.Version):
		return fmt.Errorf("capabilities: version %.20q; want %s", c.Version, ofName)
	case len(strings.Fields(c.Recovery)) != 1:
		return fmt.Errorf("capabilities: recovery %.20q; want one word of %s", c.Recovery,
			strings.Join(Recoveries(), " "))
	case c.MaxQPs < 1:
		return fmt.Errorf("capabilities: max_qps %d; want 1 or more", c.MaxQPs)
	}
	for _, list := range []struct {
		name, words string
		known       []string
	}{
		{"operations", c.Operations, opNames()},
		{"serves", c.Serves, opNames()},
		{"mtus", c.MTUs, []string{"256", "512", "1024", "2048", "4096"}},
		{"recovery", c.Recovery, Recoveries()},
		{"features", c.Features, Features()},
		{"reports", c.Reports, []string{"cqe", "memory", "file", "datagrams"}},
	} {
		for _, w := range strings.Fields(list.words) {
			if !slices.Contains(list.known, w) {
				return fmt.Errorf("capabilities: %s: %.20q is unknown; known: %s", list.name, w,
					strings.Join(list.known, " "))
			}
		}
	}
	for _, w := range strings.Fields(c.Params) {
		if !named(w) {
			return fmt.Errorf("capabilities: params: %.20q; want names: %s", w, ofName)
		}
	}
	if strings.TrimSpace(c.MTUs) == "" {
		return fmt.Errorf("capabilities: mtus: none; want one at least, such as 1024")
	}
	return nil
}

// Tells reports whether the program declares a kind of report.
func (c *Capabilities) Tells(kind string) bool {
	return slices.Contains(strings.Fields(c.Reports), kind)
}

// Has reports whether the program declares a feature.
func (c *Capabilities) Has(feature string) bool {
	return slices.Contains(strings.Fields(c.Features), feature)
}

// Need is the set of capabilities that a run requires of one side.
type Need struct {
	Operations []string // to request
	Serves     []string // to answer
	MTU        int
	QPs        int
	Params     []string // parameters that are given, by name
	Management bool     // connections are set up by messages of the communication manager
	Turns      bool     // work depends on messages received, which work lines cannot express
	Flows      bool     // messages vary in size or arrive by the clock, which work lines cannot express
}

// Lacks names the first capability in n that the program does not declare; "" when it declares all.
func (c *Capabilities) Lacks(n Need) string {
	for _, list := range []struct {
		what, have string
		want       []string
	}{
		{"operation", c.Operations, n.Operations},
		{"answering", c.Serves, n.Serves},
		{"MTU", c.MTUs, []string{strconv.Itoa(n.MTU)}},
		{"parameter", c.Params, n.Params},
	} {
		have := strings.Fields(list.have)
		for _, w := range list.want {
			if !slices.Contains(have, w) {
				return list.what + " " + w
			}
		}
	}
	if n.QPs > c.MaxQPs {
		return fmt.Sprintf("%d QPs; it has %d", n.QPs, c.MaxQPs)
	}
	if n.Management && !c.Has("cm") {
		return "set-up by messages (feature cm)"
	}
	if n.Turns && !c.Has("spec") {
		return "work that depends on what comes (feature spec)"
	}
	if n.Flows && !c.Has("spec") {
		return "messages that vary in size or arrive by the clock (feature spec)"
	}
	return ""
}
