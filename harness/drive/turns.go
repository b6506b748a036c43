package drive

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// turns is the application of one side that alternates with the application of the other side, on connection 0.
//
// Successive requests take their data from successive slots of the source region: a retransmitted request must have its
// original bytes, although the application has prepared later ones.
type turns struct {
	scenario.Turns
	first  bool   // this side begins
	step   step   // next step of rping
	posted int    // requests posted
	done   int    // requests completed with success; done <= posted
	rounds int    // rounds completed; at most Count
	heard  int    // messages received from the peer
	took   int    // messages of the peer acted on; took <= heard
	last   []byte // newest SEND of rping received
	failed string // reason why the application cannot continue; "" if it can
	work   *poster
	memory *memory.Host
}

// step is the next step of a side in a round of rping.
type step uint8

const (
	tellSource   step = iota // the side that begins: SEND the buffer to be READ
	awaitRead                // wait until the peer has READ it
	awaitWritten             // wait until the peer has WRITten it back

	awaitSource // the other side: wait for the SEND of the buffer to be READ
	reading     // wait for the READ to complete
	awaitSink   // wait for the SEND of the buffer to be WRITten
	writing     // wait for the WRITE to complete
)

// pingLen is the length of rping's SENDs: the address, key and length of a buffer, big-endian, or zeros.
const pingLen = 16

// init begins with the first round.
func (t *turns) init(s *scenario.Spec, side trace.Side, w *poster, m *memory.Host) {
	*t = turns{Turns: s.Turns, first: s.Turns.From == side, work: w, memory: m}
	if !t.first {
		t.step = awaitSource
	}
}

// over reports whether the application has finished or failed.
func (t *turns) over() bool {
	return !t.Taken() || t.failed != "" || t.rounds == t.Count && t.done == t.posted
}

// play takes all steps of the application that are possible now.
func (t *turns) play() {
	act := t.ping
	if t.Kind == scenario.WriteTurns {
		act = t.writeInTurn
	}
	for !t.over() && !t.work.qps[0].failed && act() {
	}
}

// writeInTurn posts the next WRITE of this side if it is its turn. The n-th WRITE is posted when the previous WRITE of
// this side is done and the peer's n-th WRITE has arrived, or, on the side that begins, the peer's (n-1)-th. It reports
// whether it made progress.
func (t *turns) writeInTurn() bool {
	mark := t.memory.Load(Target(0)+uint64(t.Msg)-1, 1)
	if t.heard < t.Count && mark[0] == byte(t.heard+1) {
		t.heard++
		return true
	}
	mine := t.heard > t.posted || t.first && t.heard == t.posted
	if t.rounds = min(t.heard, t.done); !mine || t.done < t.posted || t.posted == t.Count {
		return false
	}
	out := t.outgoing(int(t.Msg))
	out[len(out)-1] = byte(t.posted + 1)
	va, key := Remote(t.work.layout.spec, t.work.layout.side.Other(), 0)
	return t.turn(engine.OpWrite, uint32(t.Msg), t.slotVA(), va, key)
}

// ping takes the next step of rping, if the event that the step waits for has occurred.
func (t *turns) ping() bool {
	if t.first {
		return t.pingFirst()
	}
	switch info := t.last; {
	case t.step == awaitSource && t.take():
		t.step = reading
		return t.reach(engine.OpRead, info)
	case t.step == reading && t.done == t.posted:
		t.step = awaitSink
		return t.tell(0)
	case t.step == awaitSink && t.take():
		t.step = writing
		return t.reach(engine.OpWrite, info)
	case t.step == writing && t.done == t.posted:
		t.step = awaitSource
		t.rounds++
		return t.tell(0)
	}
	return false
}

// pingFirst is ping of the side that begins. The buffer to be READ is the first slot of its target region, the buffer
// to be WRITten the second.
func (t *turns) pingFirst() bool {
	switch {
	case t.step == tellSource && t.rounds < t.Count:
		pingText(t.memory.Load(Target(0), int(t.Msg)), t.rounds)
		t.step = awaitRead
		return t.tell(Target(0))
	case t.step == awaitRead && t.take():
		t.step = awaitWritten
		return t.tell(Target(0) + t.work.layout.slot)
	case t.step == awaitWritten && t.take():
		n := int(t.Msg)
		if !bytes.Equal(t.memory.Load(Target(0), n), t.memory.Load(Target(0)+t.work.layout.slot, n)) {
			t.failed = fmt.Sprintf("round %d of rping: what was WRITten back is not what was READ", t.rounds)
		}
		t.step = tellSource
		t.rounds++
		return true
	}
	return false
}

// pingText fills b as rping does: text with the number of the round, letters, and a zero byte.
func pingText(b []byte, round int) {
	n := copy(b, fmt.Sprintf("rdma-ping-%d: ", round))
	for i := n; i < len(b); i++ {
		b[i] = byte('A' + (round+i-n)%('z'-'A'+1))
	}
	b[len(b)-1] = 0
}

// take consumes a message of the peer, and reports whether there was one.
func (t *turns) take() bool {
	if t.took == t.heard {
		return false
	}
	t.took++
	return true
}

// tell SENDs the location of the buffer at va on this side; for a zero va it SENDs zeros.
func (t *turns) tell(va uint64) bool {
	out := t.outgoing(pingLen)
	clear(out)
	if va != 0 {
		binary.BigEndian.PutUint64(out, va)
		binary.BigEndian.PutUint32(out[8:], Key(t.work.layout.side, 0))
		binary.BigEndian.PutUint32(out[12:], uint32(t.Msg))
	}
	return t.turn(engine.OpSend, pingLen, t.slotVA(), 0, 0)
}

// reach posts a READ or WRITE of the buffer whose location info is the peer's SEND. The READ stores its data in the
// slot from which the WRITE takes it.
func (t *turns) reach(op engine.Op, info []byte) bool {
	n := binary.BigEndian.Uint32(info[12:])
	if unit := uint32(t.Msg); n != unit {
		t.failed = fmt.Sprintf("round %d of rping: the peer tells of a buffer of %d bytes; want %d", t.rounds, n, unit)
		return false
	}
	return t.turn(op, n, t.work.layout.land(0), binary.BigEndian.Uint64(info), binary.BigEndian.Uint32(info[8:]))
}

// slotVA returns the address of the data of the next request.
func (t *turns) slotVA() uint64 {
	return t.work.layout.source(0) + uint64(t.posted)%t.work.layout.slots*t.work.layout.slot
}

// outgoing returns the first n bytes of the slot of the next request, for writing.
func (t *turns) outgoing(n int) []byte { return t.memory.Edit(t.slotVA(), n) }

// turn posts the next request.
func (t *turns) turn(op engine.Op, n uint32, local, remote uint64, key uint32) bool {
	wr := engine.WorkRequest{ID: uint64(t.posted), Op: op, Len: n, LocalVA: local, RemoteVA: remote, RKey: key}
	if t.work.post(0, wr, 0) != nil {
		t.failed = fmt.Sprintf("round %d: the engine takes no %s", t.rounds, op)
		return false
	}
	t.posted++
	return true
}

// turned counts a completion.
func (t *turns) turned(ev *engine.Event) {
	if ev.Status == engine.StatusSuccess {
		t.done++
	}
}

// listened records a SEND of the peer.
func (t *turns) listened(ev *engine.Event) {
	if !t.Taken() || ev.Status != engine.StatusSuccess {
		return
	}
	if ev.Len != pingLen {
		t.failed = fmt.Sprintf("round %d of rping: a SEND of %d bytes came; want %d", t.rounds, ev.Len, pingLen)
		return
	}
	t.last = bytes.Clone(t.memory.Load(t.work.layout.receive(0, int(ev.ID)).VA, pingLen))
	t.heard++
}

// shortfall returns the reason why not all rounds were completed; "" if all were.
func (t *turns) shortfall() string {
	if t.failed != "" || t.rounds == t.Count {
		return t.failed
	}
	return fmt.Sprintf("%d of %d rounds of turns were taken", t.rounds, t.Count)
}
