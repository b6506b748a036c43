package drive

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/rate"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pacing is the rate control of one QP, both as the sender that reacts and as the receiver that notifies. A QP without
// rate control has none. Requests are paced, and READ responses; acknowledgements never wait.
type pacing struct {
	control rate.Control
	next    vtime.Time // data may leave from here on
	echo    bool       // a mark has come since the last acknowledgement
	notify  bool       // a notification is to be sent
	silent  vtime.Time // and none before this
	cnps    bool       // marks are answered by notifications; otherwise acknowledgements echo them
}

// newPacing makes the rate control that the Spec asks for at one end of a QP, nil for none.
func newPacing(s *scenario.Spec, e *Endpoint, i int) (*pacing, error) {
	q := &e.qps[i].attr
	line := q.Path.Rate
	link := s.Link.AB
	if e.side != 0 {
		link = s.Link.BA
	}
	if link.Port != 0 {
		line = link.Port
	}
	c, err := rate.New(q.RateControl, rate.Path{Line: line, RTT: q.Path.RTT, Frame: q.MTU + roce.Overhead})
	if c == nil || err != nil {
		return nil, err
	}
	return &pacing{control: c, cnps: q.RateControl == "dcqcn"}, nil
}

// addPacing gives every QP its rate control.
func (e *Endpoint) addPacing() (err error) {
	for i := range e.qps {
		q := &e.qps[i]
		if q.pacing, err = newPacing(e.spec, e, i); err != nil {
			return fmt.Errorf("drive: %w", err)
		}
		q.paced = q.pacing != nil
	}
	return nil
}

// capable is the ECN codepoint of a sender whose peer listens to marks: ECT(0) (RFC 3168, 5).
const capable = 2

// TOS is the type of service of the endpoint's frames: ECN-capable when its QPs are rate controlled.
func (e *Endpoint) TOS() uint8 {
	if e.qps[0].pacing != nil {
		return capable
	}
	return 0
}

// ReceiveMarked is Receive for a packet that the link marked as having met congestion.
func (e *Endpoint) ReceiveMarked(now vtime.Time, p *roce.Packet) {
	e.marked = true
	e.Receive(now, p)
	e.marked = false
}

// congestion lets the rate control of QP i see a packet that arrived. It reports whether that was all the packet was for.
func (e *Endpoint) congestion(now vtime.Time, i int, p *roce.Packet) bool {
	c := e.qps[i].control()
	if c == nil {
		return false
	}
	switch {
	case p.Opcode == roce.CNP:
		c.control.Notified(now)
		return true
	case p.Opcode == roce.Acknowledge:
		c.control.Acknowledged(now, p.BECN)
	}
	if e.marked && c.cnps && now >= c.silent {
		c.notify, c.silent = true, now.Add(rate.NotifyPeriod)
		e.enqueue(i)
	}
	c.echo = c.echo || e.marked && !c.cnps
	return false
}

// notification fills p with the congestion notification that QP i owes, if it does: BECN, and sixteen reserved bytes
// (annex A17).
func (e *Endpoint) notification(i int, p *roce.Packet) bool {
	q := &e.qps[i]
	if !q.paced || !q.pacing.notify {
		return false
	}
	q.pacing.notify = false
	*p = roce.Packet{BTH: roce.BTH{Opcode: roce.CNP, BECN: true, PKey: q.attr.PKey, DestQP: q.attr.DestQPN}, Len: cnpLen}
	if e.bytes {
		p.Payload = reserved[:]
	}
	return true
}

// cnpLen is the length of the reserved field of a notification.
const cnpLen = 16

var reserved [cnpLen]byte

// waits reports whether half h of a QP must let time pass before it sends data, and when it may.
func (c *pacing) waits(now vtime.Time, h int, answered bool) bool {
	return c != nil && now < c.next && (h == requester || answered)
}

// sent accounts for a packet that leaves.
func (c *pacing) sent(now vtime.Time, p *roce.Packet) {
	if c == nil {
		return
	}
	switch {
	case p.Opcode == roce.Acknowledge:
		p.BECN, c.echo = c.echo, false
	case p.Len > 0:
		c.next = c.control.Sent(now, p.WireLen(false))
	}
}
