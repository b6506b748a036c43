package rule

import (
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Outstanding follows the messages that a requester began and that no response has answered yet, as its port shows
// them.
type Outstanding struct {
	last  []psn.PSN // ends of the messages, oldest first
	head  int       // those before it have been answered
	begun bool      // the newest has not ended
}

// outstandingLimit bounds what is followed; no send queue is deeper.
const outstandingLimit = 1 << 20

// Answered drops the oldest messages that have been answered.
func (m *Outstanding) Answered(c *Context) {
	for m.head < len(m.last) && c.Answered(m.last[m.head]) {
		m.head++
	}
	if m.head > len(m.last)/2 { // so that a deep queue is not moved for each acknowledgement
		m.last = m.last[:copy(m.last, m.last[m.head:])]
		m.head = 0
	}
}

// Request takes the first transmission of a request.
func (m *Outstanding) Request(c *Context, s *Sight) {
	if s.Pkt.Opcode.StartsMessage() {
		m.begun = true
	}
	if s.Pkt.Opcode.EndsMessage() && len(m.last) < outstandingLimit {
		m.last = append(m.last, s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))-1))
		m.begun = false
	}
}

// Count returns how many there are, the open one included.
func (m *Outstanding) Count() int {
	n := len(m.last) - m.head
	if m.begun {
		n++
	}
	return n
}

// flightParams are the parameters by which schemes whose responders keep what comes early bound the packets in flight:
// the window of FaSR, and the cap of IRN. Elsewhere a cap is of other things.
var flightParams = [...]string{"window", "cap"}

// FlightLimit returns how many requests the requester may have in flight by what its scheme was told; 0 when it was
// told nothing.
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

// Given returns the parameter of a scheme that an end was given; "" is its default. Where the attributes of the ends
// are not known, an end that declares a variant by the name of the parameter was given one, and nobody knows which:
// then it is unknown.
func (c *Conversation) Given(who Blame, name string) (text string, unknown bool) {
	side, attr := c.Req, c.Attr
	if who == Responder {
		side, attr = c.Req.Other(), c.PeerAttr
	}
	text = attr.Params[name]
	return text, text == "" && !c.Known && c.opts != nil && slices.Contains(c.opts.declared(side), name)
}
