package writerecord

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// messageKey names a message of a peer: SENDs count from 1, Write-Records on their own.
type messageKey struct {
	record bool
	number uint32
}

// message is what a target remembers of a message, from its first segment on. Its life is t_reasm or t_rec; one that
// ended before is kept until then, so that a copy of one of its segments is not taken for a new message.
type message struct {
	key     messageKey
	until   vtime.Time
	arrived chunks
	length  uint32                // of the whole; of a SEND it is known when the last segment has come
	known   bool                  // length is
	over    bool                  // a SEND is complete, failed or given up; a Write-Record has been declared
	receive engine.ReceiveRequest // of a SEND
	base    uint64                // of a Write-Record: address of its first byte
	stag    uint32
}

// lifetimes is messages of one kind in the order in which their lives end, which is that in which they began.
type lifetimes struct {
	all  ring.Ring[*message]
	open ring.Ring[*message] // without those at its head that are over
}

// deadline returns when the life of the first message that is not over ends.
func (l *lifetimes) deadline() (vtime.Time, bool) {
	if l.open.Len() == 0 {
		return 0, false
	}
	return (*l.open.At(0)).until, true
}

// trim follows the end of a message. It must come before the message is forgotten.
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

// begin starts to remember a message. It returns nil when the endpoint remembers too many and none of this peer is
// over.
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

// end says that a message is over.
func (t *Target) end(m *message) {
	m.over = true
	t.kind(m.key).trim()
}

// makeRoom lets the oldest message go before its time, if it is over.
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

// sweep ends the life of messages. A SEND that is not whole is given up, and remembered once more as long, so that what
// comes late does not take a receive.
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
