package scenario

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// LAN is the link between side A and a middlebox near it. A run without a middlebox has no LAN, and ignores the fields
// of the Spec for it. Both directions are alike.
type LAN struct {
	Link   spec.Link
	Faults []fault.Fault
}

// defaultLAN is a cable within a building.
func defaultLAN() LAN {
	return LAN{Link: spec.Link{Rate: 100 * unit.Gbps, Delay: vtime.Microsecond, Queue: 100_000}}
}

// actions are the first words of a fault.
var actions = []string{string(fault.Drop), string(fault.Duplicate), string(fault.Delay), string(fault.Reorder),
	string(fault.Corrupt), string(fault.Rewrite), string(fault.Mark)}

// readLAN reads fields of the link, "lan loss …", or a fault behind the word lan: "lan drop A psn=+2".
func readLAN(s *Spec, st *statement) {
	switch {
	case len(st.words) > 0 && slices.Contains(actions, st.words[0]):
		s.LAN.readFault(st)
	case len(st.words) > 0 && st.words[0] == "loss":
		s.LAN.readLoss(st)
	case len(st.keys) == 0:
		st.errorf("want fields such as rate=100G delay=1us, or loss …, or a fault such as drop A psn=+2")
	default:
		s.LAN.readLink(st)
	}
}

// readFault leaves the line to package fault.
func (l *LAN) readFault(st *statement) {
	f, err := fault.Parse(strings.TrimSpace(strings.TrimPrefix(st.text, st.verb)))
	if err != nil {
		st.err = err
		return
	}
	l.Faults = append(l.Faults, f)
	st.clear()
}

// readLoss replaces the whole process.
func (l *LAN) readLoss(st *statement) {
	st.word()
	loss, err := spec.ParseLoss(strings.Join(st.words, " ") + " " + st.rest())
	if err != nil {
		st.err = err
		return
	}
	l.Link.Loss = loss
	st.clear()
}

// readLink changes the fields that the statement names.
func (l *LAN) readLink(st *statement) {
	next, err := spec.ParseLink(merge(l.Link.String(), st))
	if err != nil {
		st.err = err
		return
	}
	next.Loss = l.Link.Loss
	l.Link = next
	clear(st.keys)
}

// text prints the fields that differ from the default, as readLAN reads them.
func (l *LAN) text() string {
	var b strings.Builder
	plain := l.Link
	plain.Loss = spec.Loss{}
	if plain != defaultLAN().Link {
		b.WriteString("lan " + explicit(plain.String()) + "\n")
	}
	if l.Link.Loss.Model != spec.NoLoss {
		b.WriteString("lan loss " + l.Link.Loss.String() + "\n")
	}
	for _, f := range l.Faults {
		b.WriteString("lan " + f.String() + "\n")
	}
	return b.String()
}

// explicit adds the zeros that a link leaves out when it prints: the default of the LAN is not zero.
func explicit(link string) string {
	for _, field := range []string{"rate", "delay"} {
		if !strings.Contains(" "+link, " "+field+"=") {
			link += " " + field + "=0"
		}
	}
	return link
}

// Management says whether connections are set up and torn down by messages of the communication manager.
type Management string

// The choices. Auto is on when there is a middlebox in the path, which learns from the messages, and off otherwise.
const (
	CMAuto Management = ""
	CMOn   Management = "on"
	CMOff  Management = "off"
)

// Managed reports whether a run with or without a middlebox begins with the set-up of its connections.
func (m Management) Managed(box bool) bool { return m == CMOn || m == CMAuto && box }

// readCM reads "cm on", "cm off" or "cm auto".
func readCM(s *Spec, st *statement) {
	switch w, _ := st.word(); w {
	case "on", "off":
		s.CM = Management(w)
	case "auto":
		s.CM = CMAuto
	default:
		st.errorf("%.60q: want on, off or auto", w)
	}
}

// text prints the choice when it is not the default.
func (m Management) text() string {
	if m == CMAuto {
		return ""
	}
	return "cm " + string(m) + "\n"
}
