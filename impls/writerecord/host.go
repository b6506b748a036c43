package writerecord

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Host is the datagram QP of an endpoint. "We require a datagram type QP" that all peers send to (IV-B): one receive
// queue and one table of memory regions, with each message told by its source and number. The halves that New builds
// are how a driver reaches it, one pair for each peer; they hold nothing for a peer that is silent.
type Host struct {
	cfg      config
	posted   ring.Ring[engine.ReceiveRequest]
	returned []engine.ReceiveRequest // buffers of messages that were given up, the last one first
	room     int                     // receives that may be posted
	messages int                     // that are remembered, of all peers
	spare    []*message
}

// NewHost makes the datagram QP of one endpoint. The error names the parameter that it rejects.
func NewHost(given engine.Params) (*Host, error) {
	cfg, err := parse(given)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg}, nil
}

// LinkMTU implements engine.Fragmenter.
func (h *Host) LinkMTU() int { return h.cfg.linkMTU }

// New builds the two halves for one peer. The parameters are those of the host. The error names the attribute that it
// rejects.
func (h *Host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	for _, d := range []struct {
		name        string
		n, from, to int
	}{{"QueueDepth", qp.QueueDepth, 1, maxDepth}, {"ReceiveDepth", qp.ReceiveDepth, 0, maxDepth}} {
		if d.n < d.from || d.n > d.to {
			return nil, nil, fmt.Errorf("writerecord: %s %d: want %d to %d", d.name, d.n, d.from, d.to)
		}
	}
	h.room += qp.ReceiveDepth
	return &Source{host: h, qp: qp, mem: mem, nextMSN: 1},
		&Target{host: h, qp: qp, mem: mem}, nil
}

// maxDepth bounds the queues of a QP.
const maxDepth = 1 << 20

// post adds a receive behind all others.
func (h *Host) post(rr engine.ReceiveRequest) error {
	if h.posted.Len()+len(h.returned) >= h.room {
		return engine.ErrQueueFull
	}
	h.posted.Push(rr)
	return nil
}

// take returns the oldest posted receive.
func (h *Host) take() (rr engine.ReceiveRequest, ok bool) {
	if n := len(h.returned); n > 0 {
		rr, h.returned = h.returned[n-1], h.returned[:n-1]
		return rr, true
	}
	return h.posted.Pop()
}

// giveBack puts a receive before all others: its message was given up.
func (h *Host) giveBack(rr engine.ReceiveRequest) { h.returned = append(h.returned, rr) }
