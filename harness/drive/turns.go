package drive

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// turns is the application of one side that takes turns with that of the other, on connection 0.
//
// What it sends lies in slots of the source region, one after the other: a request that is sent again must have the bytes that
// it had, although the application has gone on.
type turns struct {
	scenario.Turns
	first  bool // this side begins
	step   step // of rping, where the round stands
	posted int  // requests
	done   int  // of them
	rounds int  // that are over
	heard  int  // messages of the peer
	took   int  // of them, those that were acted on
	last   []byte
	failed string // why it cannot go on, "" while it can
}

// step is where a round of rping stands: what the side does next.
type step uint8

const (
	tellSource   step = iota // the side that begins: SEND where to READ
	awaitRead                // wait until it has been READ
	awaitWritten             // wait until it has been WRITten back

	awaitSource // the other: wait for where to READ
	reading     // wait for the READ
	awaitSink   // wait for where to WRITE
	writing     // wait for the WRITE
)

// pingLen is the length of rping's SENDs: where a buffer is (address, key, length; big-endian), or nothing that counts.
const pingLen = 16

// init begins with the first round.
func (t *turns) init(s *scenario.Spec, side trace.Side) {
	*t = turns{Turns: s.Turns, first: s.Turns.From == side}
	if !t.first {
		t.step = awaitSource
	}
}

// over reports whether the application has nothing more to do.
func (t *turns) over() bool {
	return !t.Taken() || t.failed != "" || t.rounds == t.Count && t.done == t.posted
}

// converse lets the application of this side do what it can after something has happened.
func (e *Endpoint) converse() {
	t := &e.turns
	if !t.Taken() || !e.connect.open(0) {
		return
	}
	act := e.ping
	if t.Kind == scenario.WriteTurns {
		act = e.writeInTurn
	}
	for !t.over() && !e.qps[0].failed && act() {
	}
	e.drain(0, requester)
}

// writeInTurn WRITEs when it is this side's turn: the n-th time when the peer's n-th, or of the side that begins the one
// before, has come, and the own one before is done. It reports whether it did anything.
func (e *Endpoint) writeInTurn() bool {
	t := &e.turns
	mark := e.memory.Load(Target(0)+uint64(t.Msg)-1, 1)
	if t.heard < t.Count && mark[0] == byte(t.heard+1) {
		t.heard++
		return true
	}
	mine := t.heard > t.posted || t.first && t.heard == t.posted
	if t.rounds = min(t.heard, t.done); !mine || t.done < t.posted || t.posted == t.Count {
		return false
	}
	out := e.outgoing(int(t.Msg))
	out[len(out)-1] = byte(t.posted + 1)
	va, key := Remote(e.spec, e.side.Other(), 0)
	return e.turn(engine.OpWrite, uint32(t.Msg), e.slotVA(), va, key)
}

// ping takes the next step of rping, if what it waits for has come.
func (e *Endpoint) ping() bool {
	t := &e.turns
	if t.first {
		return e.pingFirst()
	}
	switch info := t.last; {
	case t.step == awaitSource && t.take():
		t.step = reading
		return e.reach(engine.OpRead, info)
	case t.step == reading && t.done == t.posted:
		t.step = awaitSink
		return e.tell(0)
	case t.step == awaitSink && t.take():
		t.step = writing
		return e.reach(engine.OpWrite, info)
	case t.step == writing && t.done == t.posted:
		t.step = awaitSource
		t.rounds++
		return e.tell(0)
	}
	return false
}

// pingFirst is ping of the side that begins. What it offers is in the first slot of its target region, what it gets back in
// the second.
func (e *Endpoint) pingFirst() bool {
	t := &e.turns
	switch {
	case t.step == tellSource && t.rounds < t.Count:
		pingText(e.memory.Load(Target(0), int(t.Msg)), t.rounds)
		t.step = awaitRead
		return e.tell(Target(0))
	case t.step == awaitRead && t.take():
		t.step = awaitWritten
		return e.tell(Target(0) + e.layout.slot)
	case t.step == awaitWritten && t.take():
		n := int(t.Msg)
		if !bytes.Equal(e.memory.Load(Target(0), n), e.memory.Load(Target(0)+e.layout.slot, n)) {
			t.failed = fmt.Sprintf("round %d of rping: what was WRITten back is not what was READ", t.rounds)
		}
		t.step = tellSource
		t.rounds++
		return true
	}
	return false
}

// pingText fills b as rping does: text that says the round, letters, and a zero.
func pingText(b []byte, round int) {
	n := copy(b, fmt.Sprintf("rdma-ping-%d: ", round))
	for i := n; i < len(b); i++ {
		b[i] = byte('A' + (round+i-n)%('z'-'A'+1))
	}
	b[len(b)-1] = 0
}

// take takes a message of the peer, if one has come.
func (t *turns) take() bool {
	if t.took == t.heard {
		return false
	}
	t.took++
	return true
}

// tell SENDs where a buffer of this side is; zero is none.
func (e *Endpoint) tell(va uint64) bool {
	out := e.outgoing(pingLen)
	clear(out)
	if va != 0 {
		binary.BigEndian.PutUint64(out, va)
		binary.BigEndian.PutUint32(out[8:], Key(e.side, 0))
		binary.BigEndian.PutUint32(out[12:], uint32(e.turns.Msg))
	}
	return e.turn(engine.OpSend, pingLen, e.slotVA(), 0, 0)
}

// reach READs or WRITEs a buffer that the peer has told of. A READ lands in the slot from which the WRITE then takes it.
func (e *Endpoint) reach(op engine.Op, info []byte) bool {
	t := &e.turns
	n := binary.BigEndian.Uint32(info[12:])
	if unit := uint32(t.Msg); n != unit {
		t.failed = fmt.Sprintf("round %d of rping: the peer tells of a buffer of %d bytes; want %d", t.rounds, n, unit)
		return false
	}
	return e.turn(op, n, e.layout.land(0), binary.BigEndian.Uint64(info), binary.BigEndian.Uint32(info[8:]))
}

// slotVA is where the bytes of the next request lie.
func (e *Endpoint) slotVA() uint64 {
	return e.layout.source(0) + uint64(e.turns.posted)%e.layout.slots*e.layout.slot
}

// outgoing is the memory of the next request.
func (e *Endpoint) outgoing(n int) []byte { return e.memory.Edit(e.slotVA(), n) }

// turn posts the next request.
func (e *Endpoint) turn(op engine.Op, n uint32, local, remote uint64, key uint32) bool {
	t := &e.turns
	wr := engine.WorkRequest{ID: uint64(t.posted), Op: op, Len: n, LocalVA: local, RemoteVA: remote, RKey: key}
	if !e.post(0, wr, 0) {
		t.failed = fmt.Sprintf("round %d: the engine takes no %s", t.rounds, op)
		return false
	}
	t.posted++
	return true
}

// turned notes a completion.
func (t *turns) turned(ev *engine.Event) {
	if ev.Status == engine.StatusSuccess {
		t.done++
	}
}

// listened notes a message of the peer.
func (e *Endpoint) listened(ev *engine.Event) {
	t := &e.turns
	if !t.Taken() || ev.Status != engine.StatusSuccess {
		return
	}
	if ev.Len != pingLen {
		t.failed = fmt.Sprintf("round %d of rping: a SEND of %d bytes came; want %d", t.rounds, ev.Len, pingLen)
		return
	}
	t.last = bytes.Clone(e.memory.Load(e.layout.receive(0, int(ev.ID)).VA, pingLen))
	t.heard++
}

// shortfall says what of the turns was not taken, "" when nothing.
func (t *turns) shortfall() string {
	if t.failed != "" || t.rounds == t.Count {
		return t.failed
	}
	return fmt.Sprintf("%d of %d rounds of turns were taken", t.rounds, t.Count)
}
