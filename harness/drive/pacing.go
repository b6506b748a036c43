package drive

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/rate"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pacing is the rate control of one QP, both as the sender that reacts and as the receiver that notifies; nil for a QP
// without. It paces requests and READ responses; acknowledgements never wait.
type pacing struct {
	control rate.Control
	next    vtime.Time // earliest time at which data may be sent
	echo    bool       // a packet with a mark has arrived since the last acknowledgement
	notify  bool       // a congestion notification is to be sent
	silent  vtime.Time // earliest time of the next notification
	cnps    bool       // marked packets are answered by notifications; otherwise acknowledgements echo the mark
	bytes   bool       // packets have payload
}

// newPacing builds the rate control that the Spec gives one end of a QP, nil for none. bytes is set when packets have
// payload.
func newPacing(s *scenario.Spec, side trace.Side, q *engine.QP, bytes bool) (*pacing, error) {
	line := q.Path.Rate
	link := s.Link.AB
	if side != trace.A {
		link = s.Link.BA
	}
	if link.Port != 0 {
		line = link.Port
	}
	c, err := rate.New(q.RateControl, rate.Path{Line: line, RTT: q.Path.RTT, Frame: q.MTU + roce.Overhead})
	if c == nil || err != nil {
		return nil, err
	}
	return &pacing{control: c, cnps: q.RateControl == "dcqcn", bytes: bytes}, nil
}

// capable is the ECN codepoint of a sender that reacts to congestion: ECT(0) (RFC 3168, 5).
const capable = 2

// arrived processes a packet before its engine does; marked means that the link has marked it because of congestion. It
// reports whether a notification is now to be sent. A CNP is for the rate control alone.
func (c *pacing) arrived(now vtime.Time, p *roce.Packet, marked bool) (owes bool) {
	switch {
	case p.Opcode == roce.CNP:
		c.control.Notified(now)
		return false
	case p.Opcode == roce.Acknowledge:
		c.control.Acknowledged(now, p.BECN)
	}
	if marked && c.cnps && now >= c.silent {
		c.notify, c.silent = true, now.Add(rate.NotifyPeriod)
		owes = true
	}
	c.echo = c.echo || marked && !c.cnps
	return owes
}

// notification fills p with the congestion notification that is to be sent, if any: BECN, and sixteen reserved bytes
// (annex A17).
func (c *pacing) notification(q *engine.QP, p *roce.Packet) bool {
	if !c.notify {
		return false
	}
	c.notify = false
	*p = roce.Packet{BTH: roce.BTH{Opcode: roce.CNP, BECN: true, PKey: q.PKey, DestQP: q.DestQPN}, Len: cnpLen}
	if c.bytes {
		p.Payload = reserved[:]
	}
	return true
}

// cnpLen is the length of the reserved field of a notification.
const cnpLen = 16

var reserved [cnpLen]byte

// waits reports whether half h of a QP must wait before it sends data.
func (c *pacing) waits(now vtime.Time, h int, answered bool) bool {
	return c != nil && now < c.next && (h == requester || answered)
}

// sent accounts for a packet that is sent.
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
