package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// datagrams measures the packets without BTH. They are not acknowledged, so the reports of the target count: the bytes
// that it received or declared are goodput.
type datagrams struct {
	seen    bool
	begun   map[recordKey]vtime.Time // Write-Records that have begun to leave
	untimed int64                    // messages received, of which the event does not say when they began
}

// recordKey identifies a Write-Record of one source.
type recordKey struct {
	conn int
	from trace.Side
	id   uint64
}

// begunLimit bounds the messages that may be under way.
const begunLimit = 1 << 16

// sight counts a packet, and records the beginning of a Write-Record.
func (d *datagrams) sight(c *Collector, s *trace.Sight, sent bool) {
	d.seen = true
	if !sent {
		return
	}
	c.begin(s.At)
	c.sum.DataPackets++
	c.wire += int64(s.Rec.WireBytes)
	seg, _, ok := iwarp.Leading(s.Pkt)
	if !ok || seg.Opcode != iwarp.WriteRecord || seg.Record.Off != 0 {
		return
	}
	if d.begun == nil || len(d.begun) == begunLimit {
		d.begun = map[recordKey]vtime.Time{} // most of them were lost
	}
	d.begun[recordKey{s.Rec.Conn, s.Rec.From, uint64(seg.Record.ID)}] = s.At
}

// event processes a report of a target.
func (d *datagrams) event(c *Collector, e *trace.Event) {
	switch {
	case e.Kind == trace.Declared:
		c.credit(e.At, e.Side.Other(), int64(e.Len))
		key := recordKey{e.Conn, e.Side.Other(), e.Body.ID}
		if first, ok := d.begun[key]; ok {
			c.fct.add(e.At.Sub(first))
			delete(d.begun, key)
		}
	case e.Kind == trace.Recv && d.seen && e.Body.Status == engine.StatusSuccess:
		c.credit(e.At, e.Side.Other(), int64(e.Len))
		d.untimed++
	}
}
