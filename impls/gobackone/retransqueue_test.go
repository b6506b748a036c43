package gobackone

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// starts put a run at zero, across the sign of the serial comparison, and across the wrap.
var starts = []psn.PSN{0, 1<<23 - 2, 1<<24 - 3}

// printed is Algorithm 1, lines 29 to 47, as printed in the paper, in PSNs: the packets that a RACK of seq queues while
// una is snd_una.
type printed struct{ crt, last psn.PSN }

func (a *printed) rack(una, seq psn.PSN) (queued []int) {
	if a.last.Less(una) {
		a.last = una
	}
	if a.crt.Less(una) {
		a.crt = una
	}
	if !a.crt.Less(seq) {
		return nil
	}
	a.last, a.crt = a.crt, seq
	for p := a.last.Next(); p.Less(a.crt); p = p.Next() {
		queued = append(queued, p.Sub(una))
	}
	return queued
}

// TestPrintedAlgorithmNeverQueuesTheFirstLoss shows why the floor is one packet lower here. Numbers are relative to the
// oldest missing packet.
func TestPrintedAlgorithmNeverQueuesTheFirstLoss(t *testing.T) {
	for _, tc := range []struct {
		name              string
		racks             []int
		printed, repaired string
	}{
		{"a single loss", []int{1, 2, 3}, "[]", "[0]"},
		{"two in a row", []int{2, 3}, "[1]", "[0 1]"},
		{"two apart", []int{1, 3}, "[2]", "[0 2]"},
	} {
		for _, una := range starts {
			old := printed{una.Prev(), una.Prev()}
			var q retransQueue
			q.restart(una)
			var queued []int
			for _, s := range tc.racks {
				queued = append(queued, old.rack(una, una.Add(s))...)
				q.rack(una, una.Add(s), una.Add(s))
			}
			if got := fmt.Sprint(queued); got != tc.printed {
				t.Errorf("%s: as printed it queues %s, want %s", tc.name, got, tc.printed)
			}
			if got := q.drain(una, una.Add(100), una); got != tc.repaired {
				t.Errorf("%s: it queues %s, want %s", tc.name, got, tc.repaired)
			}
		}
	}
}

// drain returns the packets that would be sent, relative to base.
func (q *retransQueue) drain(una, nxt, base psn.PSN) string {
	var list []string
	for p, ok := q.next(una, nxt); ok; p, ok = q.next(una, nxt) {
		list = append(list, fmt.Sprint(p.Sub(base)))
		q.sent(p)
	}
	return "[" + strings.Join(list, " ") + "]"
}

func TestRetransQueue(t *testing.T) {
	for _, base := range starts {
		at := base.Add
		var q retransQueue
		q.restart(base)
		q.rack(at(2), at(5), at(5))
		q.rack(at(2), at(5), at(5)) // twice
		q.rack(at(2), at(4), at(4)) // older
		q.rack(at(2), at(6), at(6)) // the neighbour
		if n := q.len(base, at(50)); n != 3 {
			t.Errorf("%d queued, want 3", n)
		}
		if n := q.len(at(3), at(4)); n != 1 {
			t.Errorf("%d queued within a window, want 1", n)
		}
		q.rack(at(2), at(9), at(12)) // a READ, whose responses take 9 to 12
		q.rack(at(2), at(14), at(14))
		if got := q.drain(at(3), at(50), base); got != "[3 4 7 8 13]" {
			t.Errorf("sent %s", got)
		}
		q.rack(at(15), at(20), at(20))
		if got := q.drain(at(15), at(17), base); got != "[15 16]" {
			t.Errorf("sent %s, but 17 on is about to be sent anyway", got)
		}
		q.insist(at(21), at(21))
		q.rack(at(21), at(22), at(22))
		if got := q.drain(at(21), at(50), base); got != "[21]" {
			t.Errorf("sent %s after insisting", got)
		}
		q.rack(at(23), at(26), at(26))
		q.rack(at(23), at(28), at(28))
		q.insist(at(24), at(24)) // it is queued
		if got := q.drain(at(24), at(25), base); got != "[24]" {
			t.Errorf("sent %s after insisting on what waits first", got)
		}
		q.rack(at(25), at(32), at(32))
		q.insist(at(25), at(25)) // a timeout while others are queued
		if got := q.drain(at(25), at(50), base); got != "[25 29 30 31]" {
			t.Errorf("sent %s after insisting while others wait", got)
		}
	}
}
