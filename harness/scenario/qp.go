package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/rate"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// readQP reads the attributes of both ends, or of one when the first word is A or B.
func readQP(s *Spec, st *statement) {
	sides := []trace.Side{trace.A, trace.B}
	if w, ok := st.word(); ok {
		side, ok := parseSide(w)
		if !ok {
			st.errorf("side %.60q: want A or B, or leave it out for both", w)
		}
		sides = []trace.Side{side}
	}
	given := st.keys
	for _, side := range sides {
		st.keys = maps.Clone(given)
		readAttributes(st, &s.QP[side])
		readShared(s, st, side)
	}
}

// readShared reads the keys of a qp statement that are not attributes of one end. The start PSN belongs to both ends:
// the first PSN that one sends is the first that the other expects.
func readShared(s *Spec, st *statement, side trace.Side) {
	whole(st, "count", &s.QPs, 1, MaxQPs)
	whole(st, "receives", &s.Receives, 0, maxDepth)
	st.size("receive-len", &s.ReceiveLen, maxMessage)
	st.choice("replenish", &s.Replenish, "0", "1")
	start := s.QP[side].SendPSN
	if _, ok := st.keys["start"]; ok {
		whole(st, "start", &start, 0, psn.Mask)
		s.QP[side.Other()].RecvPSN = start
	}
	s.QP[side].SendPSN = start
	st.asked = append(st.asked, "start")
}

// readAttributes reads the attributes of one end. The bounds are those of the fields of IBTA 11.2.5; an implementation
// refuses values that it does not support itself, when the run is built.
func readAttributes(st *statement, q *engine.QP) {
	whole(st, "mtu", &q.MTU, 256, 4096)
	if q.MTU&(q.MTU-1) != 0 {
		st.fail("mtu", strconv.Itoa(q.MTU), "want 256, 512, 1024, 2048 or 4096")
	}
	whole(st, "timeout", &q.Timeout, 0, 31)
	st.duration("rto", &q.RTO)
	whole(st, "retry", &q.RetryCount, 0, 7)
	whole(st, "rnr", &q.RNRRetry, 0, 7)
	whole(st, "min-rnr", &q.MinRNRTimer, 0, 31)
	whole(st, "qd", &q.QueueDepth, 1, maxDepth)
	whole(st, "cqmod", &q.CQModeration, 0, maxDepth)
	whole(st, "ackreq", &q.AckReqEvery, 0, maxDepth)
	whole(st, "coalesce", &q.AckCoalesce, 0, maxDepth)
	whole(st, "rd", &q.MaxRdAtomic, 0, 255)
	whole(st, "dest-rd", &q.MaxDestRd, 0, 255)
	whole(st, "pkey", &q.PKey, 0, 0xFFFF)
	if v, ok := st.take("access"); ok {
		readAccess(st, q, v)
	}
	if v, ok := st.take("cc"); ok {
		readControl(st, q, v)
	}
}

// attributes prints the attributes of one end as readAttributes reads them.
func attributes(q *engine.QP) string {
	rto := ""
	if q.RTO != 0 {
		rto = fmt.Sprintf(" rto=%s", q.RTO)
	}
	control := ""
	if q.RateControl != "" {
		control = " cc=" + q.RateControl
	}
	return fmt.Sprintf("mtu=%d timeout=%d%s retry=%d rnr=%d min-rnr=%d qd=%d cqmod=%d ackreq=%d coalesce=%d rd=%d "+
		"dest-rd=%d pkey=%#x access=%s%s",
		q.MTU, q.Timeout, rto, q.RetryCount, q.RNRRetry, q.MinRNRTimer, q.QueueDepth, q.CQModeration,
		q.AckReqEvery, q.AckCoalesce,
		q.MaxRdAtomic, q.MaxDestRd, q.PKey, accessText(q.Access), control)
}

// readControl reads the name of a rate control; "none" is no name.
func readControl(st *statement, q *engine.QP, v string) {
	if v != "none" && !slices.Contains(rate.Names(), v) {
		st.fail("cc", v, "want none, "+strings.Join(rate.Names(), " or "))
	}
	q.RateControl = strings.TrimPrefix(v, "none")
}

// accessRights are the letters of access=, in the order in which they print.
var accessRights = []struct {
	letter rune
	right  engine.Access
}{{'w', engine.RemoteWrite}, {'r', engine.RemoteRead}, {'a', engine.RemoteAtomic}}

// readAccess reads the operations that an end allows, "wra" in any order, or "none".
func readAccess(st *statement, q *engine.QP, v string) {
	q.Access = engine.LocalWrite
	if v == "none" {
		return
	}
	for _, c := range v {
		before := q.Access
		for _, r := range accessRights {
			if r.letter == c {
				q.Access |= r.right
			}
		}
		if q.Access == before {
			st.fail("access", v, "want letters of wra (write, read, atomic), each once, or none")
		}
	}
	if q.Access == engine.LocalWrite {
		st.fail("access", v, "want letters of wra (write, read, atomic), each once, or none")
	}
}

// accessText prints access rights as readAccess reads them.
func accessText(a engine.Access) string {
	text := ""
	for _, r := range accessRights {
		if a&r.right != 0 {
			text += string(r.letter)
		}
	}
	if text == "" {
		return "none"
	}
	return text
}
