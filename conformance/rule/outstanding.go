package rule

import (
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Outstanding counts the messages that a requester has begun and that no response has answered, as seen at its port.
type Outstanding struct {
	last  []psn.PSN // last PSNs of the messages that have ended, oldest first
	head  int       // index in last of the oldest message that is not answered
	begun bool      // a message has begun and not ended
}

// outstandingLimit bounds the messages that are counted; no send queue is deeper.
const outstandingLimit = 1 << 20

// Answered drops the oldest messages that have been answered.
func (m *Outstanding) Answered(c *Context) {
	for m.head < len(m.last) && c.Answered(m.last[m.head]) {
		m.head++
	}
	if m.head > len(m.last)/2 { // not for each acknowledgement, since a deep queue is expensive to move
		m.last = m.last[:copy(m.last, m.last[m.head:])]
		m.head = 0
	}
}

// Request counts the first transmission of a request.
func (m *Outstanding) Request(c *Context, s *Sight) {
	if s.Pkt.Opcode.StartsMessage() {
		m.begun = true
	}
	if s.Pkt.Opcode.EndsMessage() && len(m.last) < outstandingLimit {
		m.last = append(m.last, s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))-1))
		m.begun = false
	}
}

// Count returns the number of outstanding messages, including one that has not ended.
func (m *Outstanding) Count() int {
	n := len(m.last) - m.head
	if m.begun {
		n++
	}
	return n
}

// flightParams are the parameters that bound the packets in flight in schemes with the feature KeepsEarly: the window
// of FaSR, and the cap of IRN. In other schemes a cap has other meanings.
var flightParams = [...]string{"window", "cap"}

// FlightLimit returns the number of requests that the parameters of its scheme allow the requester to have in flight; 0
// when they set no limit.
func (c *Conversation) FlightLimit() int {
	if !c.Keeps() {
		return 0
	}
	for _, name := range flightParams {
		if n, err := strconv.Atoi(c.Attr.Params[name]); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// Given returns the value of a scheme's parameter at an end; "" is the default. Where the attributes of the ends are
// not known and the end declares a feature with the name of the parameter, a value was set and unknown is true.
func (c *Conversation) Given(who Blame, name string) (text string, unknown bool) {
	side, attr := c.Req, c.Attr
	if who == Responder {
		side, attr = c.Req.Other(), c.PeerAttr
	}
	text = attr.Params[name]
	return text, text == "" && !c.Known && c.owner != nil && slices.Contains(c.owner.opts.declared(side), name)
}
