package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// dividedLine reads "divided": a box divides the path. It is the last header line; connections N are then seen on two hops, which
// the ends of arrows tell apart: A>box, box>A, box>B, B>box.
func (p *fixtureParser) dividedLine(words []string) error {
	if len(words) > 0 {
		return fmt.Errorf("divided: nothing may follow")
	}
	p.f.Header.Divide(func(q engine.QP) engine.QP { return q })
	return nil
}

// boxName is how fixtures and ladders name the box.
const boxName = "box"

// hop turns an end that is the box into the side that it stands in for, and sets the hop of the line. What the link loses
// is lost behind its sender: A>X on the LAN, box>X and B>X on the WAN.
func (p *fixtureParser) hop(from, to string) (string, string) {
	p.shift = 0
	if !p.f.Header.Divided() {
		return from, to
	}
	wan := len(p.f.Header.Conns) / 2
	switch {
	case from == boxName && to == A.String():
		return B.String(), to
	case from == boxName:
		p.shift = wan
		return A.String(), to
	case from == B.String():
		p.shift = wan
		if to == boxName {
			to = A.String()
		}
	case to == boxName:
		to = B.String()
	}
	return from, to
}

// reporter is hop for the side of an event: the box reports as the end A of the WAN hop, B as its end B.
func (p *fixtureParser) reporter(name string) string {
	p.shift = 0
	if p.f.Header.Divided() && name != A.String() {
		p.shift = len(p.f.Header.Conns) / 2
	}
	if name == boxName {
		return A.String()
	}
	return name
}

// management reads "REQ qpn=0x11 start=+3" and its like; ok is false for any other packet. The start is relative to the
// first request of the message's receiver, whom it tells where to begin.
func (p *fixtureParser) management(c *Conn, from Side, words []string) (m roce.CMMessage, ok bool, err error) {
	var qpn uint32
	start := c.Ends[from.Other()].QP.SendPSN
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		n, convErr := strconv.ParseInt(value, 0, 32)
		switch {
		case convErr != nil:
			err = fmt.Errorf("%s: want a number", w)
		case key == "qpn":
			qpn = uint32(n)
		case key == "start":
			start = start.Add(int(n))
		default:
			err = fmt.Errorf("%s: want qpn= or start=", w)
		}
	}
	switch words[0] {
	case "REQ":
		return &roce.REQ{LocalCommID: 1, QPN: qpn, StartingPSN: start, PathMTU: 3, RNRRetryCount: 7}, true, err
	case "REP":
		return &roce.REP{CommIDs: roce.CommIDs{Local: 2, Remote: 1}, QPN: qpn, StartingPSN: start}, true, err
	case "RTU":
		return &roce.RTU{CommIDs: roce.CommIDs{Local: 1, Remote: 2}}, true, err
	case "DREQ":
		return &roce.DREQ{CommIDs: roce.CommIDs{Local: 1, Remote: 2}, RemoteQPN: qpn}, true, err
	case "DREP":
		return &roce.DREP{CommIDs: roce.CommIDs{Local: 2, Remote: 1}}, true, err
	}
	return nil, false, nil
}

// mad is the packet that carries a set-up message.
func mad(m roce.CMMessage) roce.Packet {
	return roce.Packet{
		BTH:  roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: roce.CMQueuePair},
		DETH: roce.DETH{QKey: roce.CMQKey, SrcQP: roce.CMQueuePair}, Payload: roce.AppendCM(nil, 1, m), Len: roce.CMLen,
	}
}

// conversation is the number of a connection that its hops share, so that what passes the box has the same payload on both.
func (p *fixtureParser) conversation(conn int) int {
	if p.f.Header.Divided() {
		return conn % (len(p.f.Header.Conns) / 2)
	}
	return conn
}
