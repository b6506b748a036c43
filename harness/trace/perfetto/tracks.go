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

// tracks are the tracks of one side of a connection. A track is made when it is first needed, except those of packets.
type tracks struct {
	parent        track
	sent, arrived track
	counters      map[string]track

	// Slices of a track must nest, but requests overlap: each open request has a track of its own, named "requests";
	// the viewer shows tracks of equal names as one.
	requests map[uint64]track // tracks of the open requests, by request ID
	free     []track

	timerTrack, recoveryTrack track
	running                   bool // the timer is running

	recovering bool
	lost       map[psn.PSN]struct{} // PSNs of which a packet was lost and none has arrived since
	recovered  vtime.Time           // time at which the last lost PSN arrived; valid while lost is empty
}

// of returns the tracks of one side of a connection; packets of no connection have tracks per side.
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

// ordered returns the tracks of all sides of connections, in a fixed order.
func (p *Writer) ordered() (list []*tracks) {
	keys := slices.SortedFunc(maps.Keys(p.halves), func(a, b half) int {
		return cmp.Or(cmp.Compare(a.side, b.side), cmp.Compare(a.conn, b.conn))
	})
	for _, k := range keys {
		list = append(list, p.halves[k])
	}
	return list
}

// open returns a track for a request.
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

// close frees the track of a request and returns it; ok is false for a request that was never posted.
func (h *tracks) close(id uint64) (on track, ok bool) {
	if on, ok = h.requests[id]; ok {
		delete(h.requests, id)
		h.free = append(h.free, on)
	}
	return on, ok
}

// unfinished returns the tracks with an open slice.
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

// counter returns the track of a variable.
func (h *tracks) counter(p *Writer, name string) track {
	on, ok := h.counters[name]
	if !ok {
		on = p.track(h.parent, name, true)
		h.counters[name] = on
	}
	return on
}

// once returns the track on, and makes it if it does not exist.
func (p *Writer) once(on *track, parent track, name string) track {
	if *on == 0 {
		*on = p.track(parent, name, false)
	}
	return *on
}

// track makes a new track below another.
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

// process makes a new process, the parent of the tracks of a side.
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
