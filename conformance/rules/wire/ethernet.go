package wire

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// destinationMAC judges frames at the port of their sender alone: whoever forwards one writes addresses of its own.
var destinationMAC = rule.Rule{
	ID: "WIRE-MAC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A frame goes to the MAC address of its next hop: to no group, and where those before and behind it go",
	Source: rule.Source{Ref: "RFC 826, RFC 1122 3.3.6",
		Requirement: "A packet for one host is sent to the hardware address of its next hop; group addresses " +
			"are for IP groups alone"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "frames at the port of their sender",
	BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		var ends [2]nextHop // by side: datagrams that set connections up are requests in both directions
		return rule.Check{Sight: func(s *rule.Sight) {
			ip, _, ok := rule.Network(s.Raw)
			made := c.Maker(s)
			if !ok || made == rule.Elsewhere {
				return
			}
			if made != rule.AtPort {
				c.Doubt("frames of an end are seen away from its port alone, where they bear the addresses of " +
					"whoever forwarded them")
				return
			}
			to := mac(s.Raw[:6])
			if to == (mac{}) { // it was captured without an Ethernet header
				c.Doubt("frames were captured without their Ethernet headers")
				return
			}
			if to[0]&1 != 0 && !toGroup(ip) {
				c.Failf(sender(s),
					"a packet for one host goes to the group %v; the address of the next hop expected", to)
				return
			}
			hop := &ends[s.Rec.From]
			if host := destination(ip); hop.host != host {
				*hop = nextHop{host: host}
			}
			hop.judge(c, s, to)
		}}
	},
}

// mac is the address of an Ethernet port.
type mac [6]byte

// String prints it as is usual: "02:00:00:00:00:0b".
func (m mac) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// toGroup reports an IP packet for many hosts.
func toGroup(ip []byte) bool {
	if ip[0]>>4 == 6 {
		return ip[24] == 0xFF
	}
	return ip[16] >= 0xE0
}

// destination returns the address that an IP packet is for, an IPv4 address at its beginning.
func destination(ip []byte) (host [16]byte) {
	if ip[0]>>4 == 6 {
		copy(host[:], ip[24:40])
	} else {
		copy(host[:4], ip[16:20])
	}
	return host
}

// nextHop is where one end sends its frames. A route that changes moves all that follows, so that a single frame for
// another address has gone astray.
type nextHop struct {
	host         [16]byte // to which the frames go at last: of frames that belong to no connection, they may be several
	before, last heading  // of the newest two frames, without those that went astray
}

// heading is where one frame goes.
type heading struct {
	to     mac
	at     vtime.Time
	record uint64
	known  bool // there is one
}

// judge holds the newest frame but one against those on its sides. No route changes there and back within rule.Drain.
func (h *nextHop) judge(c *rule.Context, s *rule.Sight, to mac) {
	now := heading{to, s.At, s.Index, true}
	switch {
	case !h.last.known, h.last.to == to:
		h.before = h.last
		c.Met()
	case h.before.known && h.before.to == to && s.At.Sub(h.before.at) <= rule.Drain:
		c.FailAt(h.last.at, h.last.record, sender(s),
			fmt.Sprintf("goes to %v; %v expected, as the frames before and behind it", h.last.to, to))
	default:
		h.before = h.last
	}
	h.last = now
}
