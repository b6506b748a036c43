package drive

import (
	"unsafe"

	"github.com/rdma-gauntlet/gauntlet/harness/drive/expect"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The halves of a QP.
const (
	requester = iota
	responder
)

// qp is one QP: its two halves and its share of the workload. With thousands of QPs a QP is rarely in the processor's
// caches, and the cost of a visit is the number of cache lines it touches. Therefore the fields that every packet needs
// are in the first line, and the size of a qp is a multiple of a line.
type qp struct {
	visited
	rest
	_ [(line - unsafe.Sizeof(rest{})%line) % line]byte
}

// line is the size of a cache line in bytes.
const line = 64

// visited holds the fields that every packet of the QP needs: one cache line.
type visited struct {
	half    [2]engine.Engine
	due     [2]vtime.Time // times at which the halves need a call of HandleTimer
	arrives vtime.Time    // arrival of the next message of the loads with arrival times, while the queue has room
	// want says which half may have something to send. A half that had nothing to send is not polled again before its
	// next input.
	want     [2]bool
	queued   bool // the QP is in the ring schedule.ready
	rushed   bool // the QP is in the ring schedule.urgent
	answered bool // the previous packet was a READ response
	failed   bool
	hurries  bool // the requester implements engine.Urgent
	paced    bool // pacing is not nil
}

// rest holds the fields that few packets need.
type rest struct {
	pressed  bool    // the latest urgent turn began with the requester
	pacing   *pacing // rate control; nil is none
	attr     engine.QP
	req      engine.Requester
	resp     engine.Responder
	tcp      *carried    // the host's TCP below the QP; nil for a QP that makes packets
	declared expect.Bits // bytes of the target region that were declared valid
	loads    []load
	recvs    int        // receives posted so far
	heard    int        // messages of the peer that completed a receive; recvs at most
	armed    vtime.Time // deadline of the transport timer as last reported
	vars     []int64    // values of the variables as last reported
}

// init sets up a QP from its two halves.
func (q *qp) init(h halves, attr engine.QP, loads []load, pacing *pacing) {
	q.visited = visited{half: [2]engine.Engine{h.req, h.resp}, due: [2]vtime.Time{vtime.Never, vtime.Never},
		arrives: vtime.Never}
	q.rest = rest{pacing: pacing, attr: attr, req: h.req, resp: h.resp, tcp: h.tcp, loads: loads, armed: vtime.Never}
	q.paced = pacing != nil
	_, q.hurries = h.req.(engine.Urgent)
}

// control is the rate control of the QP; nil is none.
func (q *qp) control() *pacing {
	if !q.paced {
		return nil
	}
	return q.pacing
}

// wants reports whether a half may have something to send.
func (q *qp) wants() bool { return q.want[requester] || q.want[responder] }

// urgent reports whether the requester has something to send that its scheme sends before all new data.
func (q *qp) urgent() bool {
	return q.hurries && q.want[requester] && q.half[requester].(engine.Urgent).Urgent()
}

// wake returns the time at which the QP needs attention next: a timer of its halves, the end of a pause of its rate
// control, or the arrival of a message to send.
func (q *qp) wake() vtime.Time {
	at := min(q.due[requester], q.due[responder], q.arrives)
	if q.paced && !q.queued && !q.rushed && q.wants() {
		at = min(at, q.pacing.next)
	}
	return at
}

// inspect appends the variables of the engines, the requester's first.
func (q *qp) inspect(vars []engine.Var) []engine.Var {
	for _, half := range []any{q.req, q.resp} {
		if in, ok := half.(engine.Inspector); ok {
			vars = in.Vars(vars)
		}
	}
	return vars
}
