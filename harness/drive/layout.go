package drive

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Each QP has these regions at addresses that both sides can compute: source, from which its requests send and into
// which they fetch; target, on which the peer's READs, WRITEs and atomics act; and inbox, which holds its receives. A
// region has a slot for each message in flight, as far as memory allows. A fourth region, small, allows the peer to
// read but not to write, so that a WRITE without the right can be crafted. Loads that READ have a fifth, landing, so
// that the data they fetch does not change the data that other loads send.
const (
	sourceBase = 1 << 44
	targetBase = 2 << 44
	inboxBase  = 3 << 44
	lockedBase = 4 << 44
	landBase   = 5 << 44
	perQP      = 1 << 31 // address distance between the regions of neighbouring QPs
	perBank    = 1 << 13 // QPs of a bank: the regions of one kind for more QPs would overlap those of the next kind
	bank       = 1 << 48 // address distance between banks
	badKey     = 0xBAD   // below every valid key
)

// place returns the address of connection i's region of the kind that begins at base.
func place(base uint64, i int) uint64 {
	return base + uint64(i%perBank)*perQP + uint64(i/perBank)*bank
}

// Limits of an endpoint's memory when regions have bytes. Messages share slots to stay below fitBytes; a Spec is
// rejected when it exceeds mostBytes with one slot per QP. fitBytes is small because a run touches all of this memory,
// to fill it and to compare it.
const (
	fitBytes  = 16 * unit.MiB
	mostBytes = 1 * unit.GiB
)

type layout struct {
	side    trace.Side
	qps     int
	slot    uint64 // bytes of a message slot
	slots   uint64 // slots of source and target
	inSlot  uint64
	inSlots uint64
	reads   bool // some load of this side READs, or its application takes turns
	spec    *scenario.Spec
	sources []byte // the row of random numbers that holds the sources of this side; nil until first used
}

// leastBytes is the minimum size of regions, as far as the queue depth allows: crafted packets and scripts reach beyond
// the first message.
const leastBytes = 16 * unit.KiB

// newLayout sizes the regions: a slot per message that can be outstanding while they fit, and at least one. A region is
// filled and compared as a whole, so that slots which no message uses would cost as much as the others.
func newLayout(s *scenario.Spec, side trace.Side) layout {
	slot := max(uint64(s.LongestMessage()), 8)
	slot = (slot + 63) &^ 63
	inSlot := uint64(s.ReceiveLen)
	switch {
	case inSlot == 0 && s.Receives > 0 && receives(s, side) == 0:
		inSlot = readOnlyLen // nothing will be received here, but a region cannot be empty
	case inSlot == 0:
		inSlot = slot
	}
	fit := uint64(fitBytes) / uint64(s.QPs) / 3
	depth := min(uint64(max(s.QP[0].QueueDepth, s.QP[1].QueueDepth)), max(messages(s, slot), uint64(leastBytes)/slot))
	reads := s.Turns.Taken() || slices.ContainsFunc(s.Loads, func(l scenario.Load) bool {
		return l.From == side && l.Op == engine.OpRead
	})
	return layout{
		side: side, qps: s.QPs, reads: reads, spec: s,
		slot: slot, slots: clamp(min(fit, perQP/2)/slot, depth),
		inSlot: inSlot, inSlots: clamp(min(fit, perQP/2)/inSlot, min(uint64(max(s.Receives, 1)),
			taken(s, side.Other(), inSlot))),
	}
}

// messages returns the number of slots that gives each message of a Spec a slot of its own.
func messages(s *scenario.Spec, slot uint64) uint64 {
	most := uint64(s.Turns.Count)
	for _, l := range s.Loads {
		if l.Count == 0 {
			return math.MaxUint64 // the load goes on as long as the run
		}
		most = max(most, uint64(l.Count))
	}
	for _, p := range s.Posts {
		end := uint64(max(p.LocalOff, p.RemoteOff, 0)) + uint64(p.WR.Len)
		most = max(most, (end+slot-1)/slot)
	}
	return most
}

// taken returns the number of slots that gives each message of a side that takes a receive a slot of its own. It is the
// number for the longest load, because an inbox that several loads fill is not compared, and one more, in which a
// message shows that took a receive too many.
func taken(s *scenario.Spec, from trace.Side, slot uint64) uint64 {
	most := uint64(s.Turns.Count)
	for _, l := range s.Loads {
		switch {
		case l.From != from || !l.Op.TakesReceive():
		case l.Count == 0:
			return math.MaxUint64 // the load goes on as long as the run
		default:
			most = max(most, uint64(l.Count))
		}
	}
	posts := uint64(0)
	for _, p := range s.Posts {
		if p.From == from && !p.Receive && p.WR.Op.TakesReceive() {
			posts++
		}
	}
	return max(most, posts, uint64(leastBytes)/slot) + 1
}

func clamp(n, most uint64) uint64 { return max(1, min(n, most)) }

// Key is the R_Key of connection i's target region at one side.
func Key(side trace.Side, i int) uint32 { return 0x1000 + uint32(i)<<4 + uint32(side) }

// Target is the address of connection i's target region.
func Target(i int) uint64 { return place(targetBase, i) }

// ReadOnlyKey is the R_Key of connection i's region at side that the peer may only read.
func ReadOnlyKey(side trace.Side, i int) uint32 { return Key(side, i) + 2 }

// Remote returns the address and key of the buffer on which connection i's requests from the other side act.
func Remote(s *scenario.Spec, at trace.Side, i int) (va uint64, key uint32) {
	if d := s.Devices[at]; d.Present() {
		return d.Buffer, d.Key
	}
	return Target(i), Key(at, i)
}

// RemoteLen returns the size of that buffer in bytes.
func RemoteLen(s *scenario.Spec, at trace.Side) uint64 {
	l := newLayout(s, at)
	return l.size()
}

// readOnlyLen is the size of that region in bytes.
const readOnlyLen = 64

func readOnly(i int) uint64 { return place(lockedBase, i) }

// size returns the size of a source, target or landing region in bytes.
func (l *layout) size() uint64 { return l.slot * l.slots }

func (l *layout) source(i int) uint64 { return place(sourceBase, i) }
func (l *layout) land(i int) uint64   { return place(landBase, i) }
func (l *layout) inbox(i int) uint64  { return place(inboxBase, i) }

// memory returns the size of all regions of one side when they have bytes: those of the QPs, and the row of the
// sources.
func (l *layout) memory() unit.Size {
	regions := uint64(1)
	if l.reads {
		regions++
	}
	return unit.Size(uint64(l.qps)*(regions*l.size()+l.inSlot*l.inSlots) + l.rowLen())
}

// Memory returns the size of the regions of both sides when they have bytes, with the memory for comparing them at the
// end.
func Memory(s *scenario.Spec) unit.Size {
	a, b := newLayout(s, trace.A), newLayout(s, trace.B)
	compared := 8 * (a.size() + a.inSlot*a.inSlots) // images and states of one QP
	return a.memory() + b.memory() + 2*unit.Size(compared)
}

// register registers the regions of all QPs, filled with a pattern that differs by side, QP and region.
func (l *layout) register(h *memory.Host, bytes bool) error {
	if bytes && l.memory() > mostBytes {
		return fmt.Errorf("drive: messages of %s on %d QPs need %s of memory; use fewer QPs or smaller messages",
			unit.Size(l.slot), l.qps, (l.memory()+unit.MiB-1)/unit.MiB*unit.MiB)
	}
	// In the order of addresses, so that each registration appends to the sorted list.
	for from := 0; from < l.qps; from += perBank {
		for kind := sourceRegion; kind < regionKinds; kind++ {
			for i := from; i < min(from+perBank, l.qps); i++ {
				if err := l.registerOne(h, bytes, i, kind); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// registerOne registers one region of connection i. The peer learns the keys of target and locked regions only.
func (l *layout) registerOne(h *memory.Host, bytes bool, i, kind int) error {
	r := memory.Region{PD: 1, Access: engine.LocalWrite, Len: l.size()}
	switch kind {
	case sourceRegion:
		r.RKey, r.Base = privateKey(i, 0), l.source(i)
	case targetRegion:
		r.RKey, r.Base, r.Access = Key(l.side, i), Target(i), engine.AllAccess
	case inboxRegion:
		r.RKey, r.Base, r.Len = privateKey(i, 1), l.inbox(i), l.inSlot*l.inSlots
	case lockedRegion:
		r.RKey, r.Base, r.Len, r.Access = ReadOnlyKey(l.side, i), readOnly(i), readOnlyLen, engine.RemoteRead
	case landRegion:
		if !l.reads {
			return nil
		}
		r.RKey, r.Base = privateKey(i, 2), l.land(i)
	}
	fill := l.spec.Devices[l.side.Other()].Fill
	switch {
	case !bytes:
	case kind == sourceRegion && fill != 0:
		r.Bytes = slices.Repeat([]byte{fill}, int(r.Len))
	case kind == sourceRegion:
		r.Bytes, r.Shared = l.stretch(i), true
	default:
		r.Bytes = make([]byte, r.Len)
		pattern(r.Bytes, l.spec.Seed, l.side, i, kind)
	}
	return h.Register(r)
}

// privateKey returns the key of a region that the peer does not learn.
func privateKey(i, n int) uint32 { return 0x80000000 + uint32(i)<<4 + uint32(n) }

// request builds the next work request of a load.
func (l *layout) request(i int, ld *load) engine.WorkRequest {
	off := uint64(ld.posted) % l.slots * l.slot
	local := l.source(i)
	if ld.Op == engine.OpRead {
		local = l.land(i)
	}
	va, key := Remote(l.spec, l.side.Other(), i)
	return engine.WorkRequest{
		ID: ld.first + uint64(ld.posted), Op: ld.Op, Len: uint32(ld.flows.Size(ld.posted)), Imm: uint32(ld.posted),
		LocalVA: local + off, RemoteVA: va + off, RKey: key,
	}
}

// receive builds the n-th receive of connection i.
func (l *layout) receive(i, n int) engine.ReceiveRequest {
	return engine.ReceiveRequest{ID: uint64(n), VA: l.inbox(i) + uint64(n)%l.inSlots*l.inSlot, Len: uint32(l.inSlot)}
}

// scripted fills in this endpoint's addresses in a scripted work request.
func (l *layout) scripted(p *scenario.Post) engine.WorkRequest {
	wr := p.WR
	wr.LocalVA = l.source(p.QP) + uint64(p.LocalOff)
	va, key := Remote(l.spec, l.side.Other(), p.QP)
	wr.RemoteVA, wr.RKey = va+uint64(p.RemoteOff), key
	if p.BadKey {
		wr.RKey = badKey
	}
	return wr
}

// scriptedReceive fills in the address of a scripted receive, which is at the script's offset in the inbox.
func (l *layout) scriptedReceive(p *scenario.Post) engine.ReceiveRequest {
	return engine.ReceiveRequest{ID: p.WR.ID, VA: l.inbox(p.QP) + uint64(p.LocalOff), Len: p.WR.Len}
}

// The regions of a QP, in the order of their addresses.
const (
	sourceRegion = iota
	targetRegion
	inboxRegion
	lockedRegion
	landRegion
	regionKinds
)

// stride is the distance between the patterns of neighbouring QPs in their row, in numbers of 8 bytes.
const stride = 9

// pattern fills b with the initial content of a region: a function of seed, side, QP and region, so that either side
// can compute the memory of the other. The regions of one side and kind are parts of one row of random numbers, each
// starting stride numbers after the one before.
func pattern(b []byte, seed uint64, side trace.Side, i, region int) {
	memory.Pattern(b, splitmix.Stream(seed<<32+uint64(region)<<4+uint64(side)), uint64(i)*stride)
}

func (l *layout) rowLen() uint64 { return l.size() + uint64(l.qps-1)*stride*8 }

// stretch returns the source of connection i. Sources are mostly read, so that one row serves them all: thousands of
// QPs with memory of their own would spend most of their time on cache misses.
func (l *layout) stretch(i int) []byte {
	if l.sources == nil {
		l.sources = make([]byte, l.rowLen())
		pattern(l.sources, l.spec.Seed, l.side, 0, sourceRegion)
	}
	at, n := uint64(i)*stride*8, l.size()
	return l.sources[at : at+n : at+n]
}
