package perfetto

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// tracks are those of one side of a connection. A track is made when it is first needed, but for the packets'.
type tracks struct {
	parent        track
	sent, arrived track
	counters      map[string]track

	// Slices of a track nest, and requests overlap: each takes a track of its own while it is open, of those called
	// "requests", which the viewer shows as one.
	requests map[uint64]track // that are open, by their number
	free     []track

	timerTrack, recoveryTrack track
	running                   bool // the timer is

	recovering bool
	lost       map[psn.PSN]struct{} // of which no packet has arrived since one was lost
	recovered  vtime.Time           // when the last of them had arrived, while there are none
}

// of returns the tracks of one side of a connection; those of no connection are the side's.
func (p *Writer) of(side trace.Side, conn int) *tracks {
	k := half{side, conn}
	if h := p.halves[k]; h != nil {
		return h
	}
	h := &tracks{counters: map[string]track{}, requests: map[uint64]track{}, lost: map[psn.PSN]struct{}{}}
	h.parent = p.sides[side]
	if conn >= 0 {
		name := fmt.Sprintf("QP %d", conn)
		if conn < len(p.header.Conns) && p.header.Conns[conn].Hop != trace.Whole {
			name += ", " + p.header.Conns[conn].Hop.String()
		}
		h.parent = p.track(h.parent, name, false)
	}
	h.sent, h.arrived = p.track(h.parent, "sends", false), p.track(h.parent, "arrives", false)
	p.halves[k] = h
	return h
}

// ordered is the tracks of all sides of connections, in a fixed order.
func (p *Writer) ordered() (list []*tracks) {
	keys := slices.SortedFunc(maps.Keys(p.halves), func(a, b half) int {
		return cmp.Or(cmp.Compare(a.side, b.side), cmp.Compare(a.conn, b.conn))
	})
	for _, k := range keys {
		list = append(list, p.halves[k])
	}
	return list
}

// open takes a track for a request.
func (h *tracks) open(p *Writer, id uint64) track {
	var on track
	if n := len(h.free); n > 0 {
		on, h.free = h.free[n-1], h.free[:n-1]
	} else {
		on = p.track(h.parent, "requests", false)
	}
	h.requests[id] = on
	return on
}

// close gives the track of a request back; ok is false of one that was never posted.
func (h *tracks) close(id uint64) (on track, ok bool) {
	if on, ok = h.requests[id]; ok {
		delete(h.requests, id)
		h.free = append(h.free, on)
	}
	return on, ok
}

// unfinished is the tracks whose slices are open.
func (h *tracks) unfinished(p *Writer) (list []track) {
	list = slices.Sorted(maps.Values(h.requests))
	if h.running {
		list = append(list, h.timer(p))
	}
	if len(h.lost) > 0 {
		list = append(list, h.recovery(p))
	}
	return list
}

func (h *tracks) timer(p *Writer) track { return p.once(&h.timerTrack, h.parent, "timer") }

func (h *tracks) recovery(p *Writer) track { return p.once(&h.recoveryTrack, h.parent, "recovery") }

// counter is the track of a variable.
func (h *tracks) counter(p *Writer, name string) track {
	on, ok := h.counters[name]
	if !ok {
		on = p.track(h.parent, name, true)
		h.counters[name] = on
	}
	return on
}

// once makes a track when it is first asked for.
func (p *Writer) once(on *track, parent track, name string) track {
	if *on == 0 {
		*on = p.track(parent, name, false)
	}
	return *on
}

// track describes a new track below another.
func (p *Writer) track(parent track, name string, counts bool) track {
	p.tracks++
	var d, m message
	d.number(descriptorUUID, uint64(p.tracks))
	d.number(descriptorParent, uint64(parent))
	d.text(descriptorName, name)
	if counts {
		d.message(descriptorCounter, nil)
	}
	m.number(packetSequence, 1)
	m.message(packetDescriptor, d)
	p.write(m)
	return p.tracks
}

// process describes a new process, below which the tracks of a side are.
func (p *Writer) process(pid int, name string) track {
	p.tracks++
	var who, d, m message
	who.number(processPID, uint64(pid))
	who.text(processName, name)
	d.number(descriptorUUID, uint64(p.tracks))
	d.message(descriptorProcess, who)
	m.number(packetSequence, 1)
	m.message(packetDescriptor, d)
	p.write(m)
	return p.tracks
}
