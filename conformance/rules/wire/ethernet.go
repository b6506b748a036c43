package wire

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// destinationMAC judges frames at the port of their sender only: a device that forwards a frame writes its own
// addresses.
var destinationMAC = rule.Rule{
	ID: "WIRE-MAC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A frame goes to the MAC address of its next hop: to no group, and to the same one as its neighbours",
	Source: rule.Source{Ref: "RFC 826, RFC 1122 3.3.6", Requirement: "A packet for one host is sent to the hardware " +
		"address of its next hop; group addresses are for IP groups alone"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "frames at the port of their sender",
	BlackBox: "HW,RXE",
	Keeps:    true, Each: func(c *rule.Context, s *rule.Sight) {
		ip, _, ok := rule.Network(s.Raw)
		made := c.Maker(s)
		if !ok || made == rule.Elsewhere {
			return
		}
		if made != rule.AtPort {
			c.Doubt("frames of an end are seen away from its port only, with the addresses of the device that forwarded them")
			return
		}
		to := mac(s.Raw[:6])
		if to == (mac{}) { // it was captured without an Ethernet header
			c.Doubt("frames were captured without their Ethernet headers")
			return
		}
		if to[0]&1 != 0 && !toGroup(ip) {
			c.Failf(sender(s), "a packet for one host goes to the group %v; the address of the next hop expected", to)
			return
		}
		// by side, because datagrams that set up connections are requests in both directions
		hop := &rule.State[[2]*nextHop](c)[s.Rec.From]
		if host := destination(ip); *hop == nil || (*hop).host != host {
			*hop = &nextHop{host: host}
		}
		(*hop).judge(c, s, to)
	},
}

// mac is the address of an Ethernet port.
type mac [6]byte

// String returns the usual form, "02:00:00:00:00:0b".
func (m mac) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// toGroup reports whether an IP packet is for many hosts.
func toGroup(ip []byte) bool {
	if ip[0]>>4 == 6 {
		return ip[24] == 0xFF
	}
	return ip[16] >= 0xE0
}

// destination returns the destination address of an IP packet; an IPv4 address is in the first four bytes.
func destination(ip []byte) (host [16]byte) {
	if ip[0]>>4 == 6 {
		copy(host[:], ip[24:40])
	} else {
		copy(host[:4], ip[16:20])
	}
	return host
}

// nextHop holds the destinations of the frames of one end. A route change moves all later frames, so a single frame for
// another address is a fault.
type nextHop struct {
	host         [16]byte // destination host; frames of no connection may have several
	before, last heading  // of the latest two frames, without single frames for another address
}

// heading is the destination of a frame.
type heading struct {
	to     mac
	known  bool // it is set
	at     vtime.Time
	record uint64
}

// judge compares the previous frame with its neighbours. A route does not change there and back within rule.Drain.
func (h *nextHop) judge(c *rule.Context, s *rule.Sight, to mac) {
	now := heading{to, true, s.At, s.Index}
	switch {
	case !h.last.known, h.last.to == to:
		h.before = h.last
		c.Met()
	case h.before.known && h.before.to == to && s.At.Sub(h.before.at) <= rule.Drain:
		c.FailAt(h.last.at, h.last.record, sender(s),
			fmt.Sprintf("goes to %v; %v expected, as for the frames before and after it", h.last.to, to))
	default:
		h.before = h.last
	}
	h.last = now
}
