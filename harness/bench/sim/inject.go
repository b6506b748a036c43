package sim

import (
	"hash/crc32"
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// crafted is an injection that is ready to be delivered.
type crafted struct {
	at   vtime.Time
	to   trace.Side
	conn int
	raw  []byte
}

// craftAll builds the injections of a Spec, in order of their time.
func craftAll(s *scenario.Spec) ([]crafted, error) {
	var out []crafted
	for _, in := range s.Injections {
		raw, err := wire.Craft(s, in)
		if err != nil {
			return nil, err
		}
		out = append(out, crafted{at: vtime.Time(in.At), to: in.To, conn: in.QP, raw: raw})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].at < out[j].at })
	return out, nil
}

// inject delivers the next crafted frame and records it as received and never sent.
func (w *World) inject() {
	c := w.injections[0]
	w.injections = w.injections[1:]
	r := trace.Record{Sent: vtime.Never, Recv: w.now, From: c.to.Other(), Conn: c.conn,
		Fate: trace.Injected, Cause: "inject",
		Raw: c.raw, WireBytes: wireLen(len(c.raw))}
	if w.box != nil && c.to == trace.B {
		r.Conn += w.spec.QPs
	}
	var f roce.Frame
	if err := f.DecodeAny(c.raw); err != nil {
		r.Defect = err.Error()
	}
	r.Packet, r.Sum, r.ICRC = f.Packet, crc32.ChecksumIEEE(f.Packet.Payload), integrity(&f, c.raw)
	w.out.unsent(&r)
	w.out.flush(w.now)
	w.end[c.to].ReceiveFrame(w.now, c.raw)
}
