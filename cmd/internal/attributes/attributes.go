// Package attributes reads what the user states of the QPs in a capture of another program.
package attributes

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// statement is one statement: attributes of the QPs of one host, of one QP, or of all.
type statement struct {
	text string
	host netip.Addr // invalid for all hosts
	qpn  uint32     // 0 for all QPs of the host
	is   scenario.Attributes
	used bool
}

// List is a list of statements, of which a later one overrides an earlier one.
type List struct {
	all    []statement
	params engine.Params
}

// Parse reads statements of the form "[ADDRESS[/QPN]] NAME=VALUE…", and parameters of a scheme of the form NAME=VALUE.
// The scheme checks the parameters. The List is nil without statements. The error names the statement and the remedy.
func Parse(qps, params []string, scheme engine.Implementation) (*List, error) {
	switch {
	case len(qps) == 0 && len(params) > 0:
		return nil, fmt.Errorf("--param is of no use without the attributes of the QPs: add --qp")
	case len(qps) == 0:
		return nil, nil
	}
	l := &List{params: engine.Params{}}
	for _, text := range qps {
		s, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("--qp %q: %w", text, err)
		}
		l.all = append(l.all, s)
	}
	for _, text := range params {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--param %q: want name=value", text)
		}
		l.params[name] = value
	}
	q := scenario.Default().QP[0]
	q.Params = l.params
	if err := scheme.Try(q, &memory.Host{}); len(params) > 0 && err != nil {
		return nil, fmt.Errorf("--param: %w", err)
	}
	return l, nil
}

// parse reads a statement.
func parse(text string) (s statement, err error) {
	s.text = text
	words := text
	if first, rest, _ := strings.Cut(strings.TrimSpace(text), " "); first != "" && !strings.Contains(first, "=") {
		host, qpn, one := strings.Cut(first, "/")
		if s.host, err = netip.ParseAddr(host); err != nil {
			return s, fmt.Errorf("%q: want an IP address, or attributes such as timeout=14", host)
		}
		if words = rest; one {
			n, err := strconv.ParseUint(qpn, 0, 32)
			if err != nil || n == 0 || n > psn.Mask {
				return s, fmt.Errorf("%q: want the number of a QP, such as 0x11", qpn)
			}
			s.qpn = uint32(n)
		}
	}
	s.is, err = scenario.ParseAttributes(words)
	return s, err
}

// Of implements recording.Attributes.
func (l *List) Of(host netip.Addr, q *engine.QP, told map[string]string) (start bool, err error) {
	is := scenario.Attributes(told)
	for i := range l.all {
		s := &l.all[i]
		if (!s.host.IsValid() || s.host == host) && (s.qpn == 0 || s.qpn == q.QPN) {
			is, s.used = is.And(s.is), true
		}
	}
	if lacks := is.Lacks(); len(lacks) > 0 {
		return false, fmt.Errorf("--qp: of %v QP %#x it does not say %s: rules need all of these", host, q.QPN,
			strings.Join(lacks, ", "))
	}
	is.Set(q)
	q.Params = l.params
	return is.Starts(), nil
}

// Unused returns an error for a statement about a QP that is not in the capture.
func (l *List) Unused() error {
	if i := slices.IndexFunc(l.all, func(s statement) bool { return !s.used }); i >= 0 {
		return fmt.Errorf("--qp %q: the capture has no such QP", l.all[i].text)
	}
	return nil
}

// Presumed lists the parameters of a scheme that are not stated, with the defaults by which its rules judge, such as
// "; not stated, and presumed of irn: cap=500 rto_n=3"; "" when all are stated.
func (l *List) Presumed(scheme engine.Implementation) string {
	var list []string
	for _, p := range scheme.Params {
		if _, stated := l.params[p.Name]; !stated {
			list = append(list, p.Name+"="+p.Default)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("; not stated, and presumed of %s: %s", scheme.Name, strings.Join(list, " "))
}

var _ recording.Attributes = (*List)(nil).Of
