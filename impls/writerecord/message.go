package writerecord

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// messageKey identifies a message of a peer. SENDs are numbered from 1; Write-Records have numbers of their own.
type messageKey struct {
	record bool
	number uint32
}

// message is the state of a message at the target, from its first segment until t_reasm (SEND) or t_rec (Write-Record)
// later. A message that ends earlier is kept until then, so that a duplicate of a segment is not taken for a new
// message.
type message struct {
	key     messageKey
	until   vtime.Time            // end of its life
	arrived chunks                // bytes that have arrived and are placed
	length  uint32                // bytes of the message; of a SEND, valid if known
	known   bool                  // length is valid: the last segment has arrived
	over    bool                  // a SEND has completed, failed or been given up; a Write-Record has been declared
	receive engine.ReceiveRequest // SEND: the receive that it fills
	base    uint64                // Write-Record: address of its first byte
	stag    uint32
}

// lifetimes is the messages of one kind, in the order of their deadlines.
type lifetimes struct {
	all  ring.Ring[*message]
	open ring.Ring[*message] // the same, without the messages at the head that are over
}

// deadline returns the end of the life of the oldest message that is not over.
func (l *lifetimes) deadline() (vtime.Time, bool) {
	if l.open.Len() == 0 {
		return 0, false
	}
	return (*l.open.At(0)).until, true
}

// trim removes messages that are over from the head of open. It must be called after a message ends and before it is
// forgotten.
func (l *lifetimes) trim() {
	for l.open.Len() > 0 && (*l.open.At(0)).over {
		l.open.Drop()
	}
}

// kind returns the lifetimes that a message belongs to.
func (t *Target) kind(key messageKey) *lifetimes {
	if key.record {
		return &t.records
	}
	return &t.sends
}

// begin adds a message. It returns nil if the host is at its limit and the oldest message of this peer is not over.
func (t *Target) begin(now vtime.Time, key messageKey, life vtime.Duration) *message {
	h := t.host
	if h.messages >= h.cfg.log && !t.makeRoom() {
		return nil
	}
	var m *message
	if n := len(h.spare); n > 0 {
		m, h.spare = h.spare[n-1], h.spare[:n-1]
	} else {
		m = &message{}
	}
	*m = message{key: key, until: now.Add(life), arrived: m.arrived[:0]}
	if t.table == nil {
		t.table = map[messageKey]*message{}
	}
	h.messages++
	t.table[key] = m
	l := t.kind(key)
	l.all.Push(m)
	l.open.Push(m)
	return m
}

// end marks a message as over.
func (t *Target) end(m *message) {
	m.over = true
	t.kind(m.key).trim()
}

// makeRoom forgets the oldest SEND or Write-Record before the end of its life, if it is over.
func (t *Target) makeRoom() bool {
	for _, l := range []*lifetimes{&t.sends, &t.records} {
		if l.all.Len() > 0 && (*l.all.At(0)).over {
			t.forget(l)
			return true
		}
	}
	return false
}

// forget removes the oldest message of a kind.
func (t *Target) forget(l *lifetimes) {
	m, _ := l.all.Pop()
	delete(t.table, m.key)
	t.host.spare = append(t.host.spare, m)
	t.host.messages--
}

// due returns the oldest message of a kind if its life has ended, nil otherwise.
func (l *lifetimes) due(now vtime.Time) *message {
	if l.all.Len() == 0 || (*l.all.At(0)).until > now {
		return nil
	}
	return *l.all.At(0)
}

// sweep handles the messages whose life has ended. An incomplete SEND is given up and kept for another t_reasm, so that
// late segments do not take a receive.
func (t *Target) sweep(now vtime.Time) {
	for m := t.records.due(now); m != nil; m = t.records.due(now) {
		if !m.over {
			t.abandoned++
			t.end(m)
		}
		t.forget(&t.records)
	}
	for m := t.sends.due(now); m != nil; m = t.sends.due(now) {
		if m.over {
			t.forget(&t.sends)
			continue
		}
		t.giveUp(m)
		m.until = now.Add(t.host.cfg.reassembly)
		t.sends.all.Drop()
		t.sends.all.Push(m)
	}
}
