package writerecord

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// record processes a segment of a Write-Record. "There is no matching receive request posted, the data is simply placed
// in the correct memory location" (IV-B3), and "Segments (64K) are placed in memory as they arrive and their reception
// and location is recorded" (VI-A2).
func (t *Target) record(now vtime.Time, s *iwarp.Segment) {
	r, n := &s.Record, uint32(len(s.Payload))
	// "The receiving machine enforces the requirement that the requested memory location must be registered with the
	// device as a valid memory region before placing the data" (II).
	if t.qp.Access&engine.RemoteWrite == 0 || !t.mem.Permit(t.qp.PD, s.STag, s.TO, n, engine.RemoteWrite) {
		t.refuse(engine.StatusRemoteAccess)
		return
	}
	end := uint64(r.Off) + uint64(n)
	if end > uint64(r.Len) || s.Last && end != uint64(r.Len) {
		t.refuse(engine.StatusRemoteInvalid)
		return
	}
	m := t.table[messageKey{record: true, number: r.ID}]
	if m == nil {
		if m = t.begin(now, messageKey{record: true, number: r.ID}, t.host.cfg.record); m == nil {
			t.overflow++
			return
		}
		m.base, m.length, m.stag = s.TO-uint64(r.Off), r.Len, s.STag
	}
	if m.base != s.TO-uint64(r.Off) || m.length != r.Len || m.stag != s.STag {
		t.refuse(engine.StatusRemoteInvalid) // another message with the same number
		return
	}
	if !t.place(m, m.base, r.Off, s.Payload) {
		return
	}
	switch {
	case m.over:
		t.declare(m, t.fresh) // late: only the bytes that it adds
	case s.Last:
		t.end(m)
		t.declareAll(m)
	}
}

// declareAll declares all bytes that have arrived: "the final packet must arrive for the partial message to be placed
// into memory and those parts that are valid are declared as such" (VI-A2). An empty message is declared with an empty
// range.
func (t *Target) declareAll(m *message) {
	if len(m.arrived) == 0 {
		t.declare(m, []chunk{{}})
		return
	}
	t.declare(m, m.arrived)
}

// declare reports a completion for each range: "either individual entries for each logical chunk of data in a message
// or ... a validity map; essentially an aggregated form of individual completion notifications" (IV-B3).
func (t *Target) declare(m *message, list []chunk) {
	for i, c := range list {
		t.tell(engine.Event{Kind: engine.Declared, Op: engine.OpWrite, ID: uint64(m.key.number),
			VA: m.base + uint64(c.from), Len: c.to - c.from,
			More: t.host.cfg.aggregate && i < len(list)-1})
	}
}
