package scenario

import (
	"maps"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Attributes are attributes of a QP by the keys of a qp statement, and by rtt, rate and message for its path: what a
// user states of a QP that is not of a Spec. The zero Attributes state nothing.
type Attributes map[string]string

// ParseAttributes reads words such as "timeout=14 retry=7". The error names the word, and lists the known keys if its
// key is unknown.
func ParseAttributes(words string) (Attributes, error) {
	st := newStatement("qp " + words)
	a := Attributes(maps.Clone(st.keys))
	a.read(&st, &engine.QP{})
	return a, st.done()
}

// Set sets the attributes of q that a states, and leaves the others as they are.
func (a Attributes) Set(q *engine.QP) { a.read(&statement{keys: maps.Clone(a)}, q) }

// And returns the attributes of both; where both state one, it is that of b.
func (a Attributes) And(b Attributes) Attributes {
	both := Attributes{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

// Lacks returns the keys that are missing before rules can rely on the attributes of a QP.
func (a Attributes) Lacks() (keys []string) {
	for _, key := range []string{"timeout", "retry", "rnr", "min-rnr", "rd", "dest-rd", "access"} {
		_, given := a[key]
		if _, rto := a["rto"]; !given && !(rto && key == "timeout") {
			keys = append(keys, key)
		}
	}
	return keys
}

// Starts reports whether a states the first PSN.
func (a Attributes) Starts() bool {
	_, starts := a["start"]
	return starts
}

// read takes the keys of a statement.
func (a Attributes) read(st *statement, q *engine.QP) {
	readAttributes(st, q)
	whole(st, "start", &q.SendPSN, 0, psn.Mask)
	st.duration("rtt", &q.Path.RTT)
	if v, ok := st.take("rate"); ok {
		var err error
		if q.Path.Rate, err = unit.ParseRate(v); err != nil {
			st.fail("rate", v, "want a rate such as 100G")
		}
	}
	var longest unit.Size
	if st.size("message", &longest, maxMessage); longest > 0 {
		q.Path.Message = uint32(longest)
	}
}

// String returns the words of a in the order of their keys.
func (a Attributes) String() string {
	st := statement{keys: a}
	return strings.TrimSpace(st.rest())
}
