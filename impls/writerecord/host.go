package writerecord

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Host is the datagram QP of an endpoint. "We require a datagram type QP" that all peers send to (IV-B): it has one
// receive queue and one table of memory regions, and a message is identified by its source and number. New returns one
// pair of halves per peer, through which a driver uses the host; a pair holds no messages for a peer that has sent
// nothing.
type Host struct {
	cfg      config
	posted   ring.Ring[engine.ReceiveRequest]
	returned []engine.ReceiveRequest // receives of messages that were given up, the newest last; taken before posted
	room     int                     // limit of posted and returned receives together: the sum of ReceiveDepth
	messages int                     // messages in the tables of all targets; 0 <= messages <= config.log
	spare    []*message              // removed messages, for reuse
}

// NewHost returns the datagram QP of one endpoint. The error names the rejected parameter.
func NewHost(given engine.Params) (*Host, error) {
	cfg, err := parse(given)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg}, nil
}

// LinkMTU implements engine.Fragmenter.
func (h *Host) LinkMTU() int { return h.cfg.linkMTU }

// New returns the two halves for one peer. It uses the parameters of the host, not those of qp. The error names the
// rejected attribute.
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

// post appends a receive to the queue.
func (h *Host) post(rr engine.ReceiveRequest) error {
	if h.posted.Len()+len(h.returned) >= h.room {
		return engine.ErrQueueFull
	}
	h.posted.Push(rr)
	return nil
}

// take removes and returns the first receive of the queue.
func (h *Host) take() (rr engine.ReceiveRequest, ok bool) {
	if n := len(h.returned); n > 0 {
		rr, h.returned = h.returned[n-1], h.returned[:n-1]
		return rr, true
	}
	return h.posted.Pop()
}

// giveBack returns the receive of a message that was given up to the head of the queue.
func (h *Host) giveBack(rr engine.ReceiveRequest) { h.returned = append(h.returned, rr) }
