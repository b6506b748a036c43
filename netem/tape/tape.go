// Package tape is the portable record of a loss process: which packets, slots of time or transmissions were lost.
//
// A tape replays the same losses on every bench and against every implementation. It is keyed in one of three ways: by
// the number of the packet, by slots of channel time (two transports then meet the same fades), or by the identity of a
// transmission (QP, PSN offset, n-th time it is sent). The form is text, one statement per line:
//
//	gauntlet-tape 1
//	key time 10us
//	model burst p=0.0001 len=8 h=1
//	seed 7
//	length 100000
//	lost 17..24
//	lost 311
//	end 9
//
// The number after end is the number of lost packets or slots, so that a truncated file is noticed. A tape keyed by
// identity has no length, and lines such as "lost qp=0 psn=+2 tx=1 class=DATA".
package tape

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Version is the version of the format that this package writes and reads.
const Version = 1

// MaxEntries bounds the lost lines of a tape, and so its memory.
const MaxEntries = 1 << 20

// Key says how the losses of a tape are identified.
type Key string

// The keys.
const (
	ByIndex    Key = "index"    // the number of the packet in its direction, from 0
	ByTime     Key = "time"     // the slot of channel time
	ByIdentity Key = "identity" // QP, PSN offset and transmission
)

// Span is a range of lost packets or slots, both ends included.
type Span struct{ From, To uint64 }

// ID names one transmission of one packet independently of start PSNs.
type ID struct {
	QP     int    // index of the connection
	Offset int    // distance of the PSN from the start PSN
	Tx     int    // 1 is the first transmission
	Class  string // role of the packet, such as DATA or ACK; empty is any
}

// Tape is a recording of a loss process.
type Tape struct {
	Key    Key
	Slot   vtime.Duration // ByTime: duration of a slot
	Model  string         // the process that was recorded, as spec.Loss prints it; information only
	Seed   uint64         // its seed; information only
	Length uint64         // packets or slots that the tape covers; those after it are not lost
	Spans  []Span         // ByIndex, ByTime: ascending, not overlapping
	IDs    []ID           // ByIdentity: ascending, each once
}

// Validate returns an error for the first invalid part of the tape.
func (t *Tape) Validate() error {
	if err := t.validateKey(); err != nil {
		return fmt.Errorf("tape: %w", err)
	}
	if n := len(t.Spans) + len(t.IDs); n > MaxEntries {
		return fmt.Errorf("tape: %d entries; use at most %d", n, MaxEntries)
	}
	if strings.ContainsAny(t.Model, "\r\n") {
		return fmt.Errorf("tape: model %q takes more than one line; shorten it", t.Model)
	}
	if t.Key == ByIdentity {
		return t.validateIDs()
	}
	return t.validateSpans()
}

// validateKey checks the key and the slot, on which the other checks depend.
func (t *Tape) validateKey() error {
	if t.Key != ByIndex && t.Key != ByTime && t.Key != ByIdentity {
		return fmt.Errorf("key %q is unknown; known are index, time, identity", t.Key)
	}
	if (t.Key == ByTime) != (t.Slot > 0) || t.Slot < 0 {
		return fmt.Errorf("key %s with slot %s; a slot belongs to key time, and only there", t.Key, t.Slot)
	}
	return nil
}

// validateIDs checks that the identities ascend and that there are no spans and no length.
func (t *Tape) validateIDs() error {
	if len(t.Spans) > 0 || t.Length > 0 {
		return fmt.Errorf("tape: key identity with spans or a length; name transmissions instead")
	}
	for i, id := range t.IDs {
		if err := id.validate(); err != nil {
			return fmt.Errorf("tape: %w", err)
		}
		if i > 0 && t.IDs[i-1].compare(id) >= 0 {
			return fmt.Errorf("tape: lost %s is out of order", id)
		}
	}
	return nil
}

// validateSpans checks that the spans ascend, do not overlap and end within the length.
func (t *Tape) validateSpans() error {
	if len(t.IDs) > 0 {
		return fmt.Errorf("tape: key %s with identities; name spans instead", t.Key)
	}
	var next uint64
	for _, s := range t.Spans {
		if s.From < next || s.To < s.From || s.To >= t.Length {
			return fmt.Errorf("tape: lost %d..%d is out of order or beyond length %d", s.From, s.To, t.Length)
		}
		next = s.To + 1
	}
	return nil
}

// Lost returns the number of packets, slots or transmissions that are lost.
func (t *Tape) Lost() uint64 {
	n := uint64(len(t.IDs))
	for _, s := range t.Spans {
		n += s.To - s.From + 1
	}
	return n
}

// Player returns a player at the beginning of the tape, which must be valid and must not change while it plays.
func (t *Tape) Player() *Player {
	p := &Player{tape: t}
	if t.Key == ByIdentity {
		p.ids = make(map[ID]bool, len(t.IDs))
		for _, id := range t.IDs {
			p.ids[id] = true
		}
	}
	return p
}

// Player replays a tape.
type Player struct {
	tape   *Tape
	next   uint64 // ByIndex: the number of the next packet
	span   int    // index of the first span that does not end before the current packet
	beyond uint64
	ids    map[ID]bool
}

// Lose reports whether the next packet of a tape keyed by index is lost, or the packet at now of a tape keyed by time.
// It makes a Player a loss process. A tape keyed by identity loses nothing here.
func (p *Player) Lose(now vtime.Time) bool {
	at := p.next
	switch p.tape.Key {
	case ByIndex:
		p.next++
	case ByTime:
		at = uint64(max(now, 0)) / uint64(p.tape.Slot)
	default:
		return false
	}
	if at >= p.tape.Length {
		p.beyond++
		return false
	}
	for spans := p.tape.Spans; p.span < len(spans) && spans[p.span].To < at; {
		p.span++
	}
	return p.span < len(p.tape.Spans) && p.tape.Spans[p.span].From <= at
}

// Lost reports whether a tape keyed by identity loses this transmission.
func (p *Player) Lost(id ID) bool {
	if p.ids[id] {
		return true
	}
	id.Class = ""
	return p.ids[id]
}

// Beyond returns the number of packets after the end of the tape, none of which is lost.
func (p *Player) Beyond() uint64 { return p.beyond }

// compare orders identities as in the file.
func (id ID) compare(o ID) int {
	return cmp.Or(cmp.Compare(id.QP, o.QP), cmp.Compare(id.Offset, o.Offset), cmp.Compare(id.Tx, o.Tx),
		cmp.Compare(id.Class, o.Class))
}

func (id ID) validate() error {
	if id.Tx < 1 || strings.ContainsAny(id.Class, " \t\r\n") {
		return fmt.Errorf("lost %s: want tx of 1 or more, and a class without blanks", id)
	}
	return nil
}
