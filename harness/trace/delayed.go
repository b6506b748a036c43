package trace

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// Delayed is a Sink that passes a trace on with all times shifted by By, to test that verdicts do not depend on
// absolute times.
type Delayed struct {
	Next Sink
	By   vtime.Duration
}

// Packet implements Sink.
func (d *Delayed) Packet(r *Record) {
	c := r.Clone()
	c.Sent, c.Recv = c.Sent.Add(d.By), c.Recv.Add(d.By)
	d.Next.Packet(c)
}

// Event implements Sink.
func (d *Delayed) Event(e *Event) {
	c := *e
	c.At, c.Deadline = c.At.Add(d.By), c.Deadline.Add(d.By)
	d.Next.Event(&c)
}

// End implements Sink.
func (d *Delayed) End(at vtime.Time) { d.Next.End(at.Add(d.By)) }
