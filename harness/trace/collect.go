package trace

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// Collector is a Sink that keeps the whole trace in memory, for short runs: tests, ladders, small captures.
type Collector struct {
	Records []Record
	Events  []Event
	Ended   vtime.Time
}

// Packet implements Sink.
func (c *Collector) Packet(r *Record) { c.Records = append(c.Records, *r.Clone()) }

// Event implements Sink.
func (c *Collector) Event(e *Event) { c.Events = append(c.Events, *e) }

// End implements Sink.
func (c *Collector) End(at vtime.Time) { c.Ended = at }

// Play passes the trace to another sink, in time order.
func (c *Collector) Play(s Sink) {
	k := 0
	for i := range c.Records {
		for k < len(c.Events) && c.Events[k].At < c.Records[i].Time() {
			s.Event(&c.Events[k])
			k++
		}
		s.Packet(&c.Records[i])
	}
	for ; k < len(c.Events); k++ {
		s.Event(&c.Events[k])
	}
	s.End(c.Ended)
}
