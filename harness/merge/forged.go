package merge

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Forgery is a frame that the harness made and put on the link, behind the tap of the sender that its addresses claim.
type Forgery struct {
	At   vtime.Time // due time at the receiver; it may arrive later, not earlier
	From trace.Side // the sender that its addresses claim
	Raw  []byte     // from the Ethernet header on; the merger only reads it
}

// forgeries are the due times of the forged frames that have not arrived, by content, the earliest first.
type forgeries map[uint64][]vtime.Time

func newForgeries(list []Forgery) forgeries {
	m := forgeries{}
	for _, f := range list {
		key := ContentKey(f.Raw, f.From)
		m[key] = append(m[key], f.At)
	}
	for _, due := range m {
		slices.Sort(due)
	}
	return m
}

// take reports whether a frame that arrived was forged. The first arrival with its bytes from its due time on counts as
// the forged one, even if the claimed sender sent the same bytes at that time.
func (m forgeries) take(key uint64, at vtime.Time) bool {
	due := m[key]
	if len(due) == 0 || at < due[0].Add(-slack) {
		return false
	}
	m[key] = due[1:]
	return true
}
