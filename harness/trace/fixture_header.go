package trace

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const allReports = ReportCQE | ReportStores | ReportTimers | ReportProbes | ReportMemory

// fixtureConns limits the connections of a fixture.
const fixtureConns = 16

// defaultConn is connection i as a fixture has it without header lines: two ends with the usual attributes of a verbs
// application, from documentation addresses (RFC 5737).
func defaultConn(i int, start psn.PSN) Conn {
	var c Conn
	for side := range c.Ends {
		c.Ends[side] = End{
			Addr:  netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + side)}),
			Port:  uint16(0xC000 + 2*i + side),
			Known: true,
			QP: engine.QP{
				QPN: fixtureQPN(i, side), DestQPN: fixtureQPN(i, 1-side), PD: 1, PKey: roce.DefaultPKey,
				MTU: 1024, SendPSN: start, RecvPSN: start,
				Timeout: 14, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 12,
				QueueDepth: 128, ReceiveDepth: 512, CQModeration: 1, AckCoalesce: 1, MaxRdAtomic: 16, MaxDestRd: 16,
				Access: engine.AllAccess,
			},
		}
	}
	return c
}

// fixtureQPN gives every end a number of its own, so that a mixed-up QPN shows.
func fixtureQPN(i, side int) uint32 { return uint32(0x11*(side+1) + 0x100*i) }

// forget leaves of a connection what can be learnt from the wire.
func forget(c *Conn) {
	for i := range c.Ends {
		e := &c.Ends[i]
		q := &e.QP
		e.Known = false
		e.QP = engine.QP{QPN: q.QPN, DestQPN: q.DestQPN, MTU: q.MTU, SendPSN: q.SendPSN, RecvPSN: q.RecvPSN}
	}
}

// header reads a header line and reports whether it was one.
func (p *fixtureParser) header(words []string) (bool, error) {
	read, ok := map[string]func([]string) error{
		"qp": p.qpLine, "start": p.startLine, "taps": p.tapsLine, "reports": p.reportsLine, "bytes": p.bytesLine, "divided": p.dividedLine,
		"bench":   p.benchLine,
		"unknown": func([]string) error { p.unknown = true; return nil },
	}[words[0]]
	if !ok {
		return false, nil
	}
	if p.started {
		return true, fmt.Errorf("%s: header lines come before packets and events", words[0])
	}
	return true, read(words[1:])
}

// startLine moves the first PSN of all ends by so many from the base.
func (p *fixtureParser) startLine(words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("start: want one number")
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < -psn.Half || n > psn.Half {
		return fmt.Errorf("start %s: want an offset of PSNs", words[0])
	}
	for i := range p.f.Header.Conns {
		setStart(&p.f.Header.Conns[i], A, p.base.Add(n))
		setStart(&p.f.Header.Conns[i], B, p.base.Add(n))
	}
	return nil
}

// setStart sets the first PSN of a side's requests, at both ends.
func setStart(c *Conn, s Side, start psn.PSN) {
	c.Ends[s].QP.SendPSN = start
	c.Ends[s.Other()].QP.RecvPSN = start
}

// tapsLine reads which sides are tapped.
func (p *fixtureParser) tapsLine(words []string) error {
	sides := strings.Join(words, "")
	if sides == "" || strings.Trim(sides, "AB") != "" {
		return fmt.Errorf("taps %s: want A, B or AB", sides)
	}
	p.f.Header.Taps = [2]bool{strings.Contains(sides, "A"), strings.Contains(sides, "B")}
	return nil
}

// benchLine reads on which bench the trace was made.
func (p *fixtureParser) benchLine(words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("bench: want one name")
	}
	p.f.Header.Bench = words[0]
	return nil
}

// bytesLine turns the synthesis of frames on or off.
func (p *fixtureParser) bytesLine(words []string) error {
	switch {
	case slices.Equal(words, []string{"on"}):
		p.f.Header.Bytes = true
	case slices.Equal(words, []string{"off"}):
		p.f.Header.Bytes = false
	default:
		return fmt.Errorf("bytes: want on or off")
	}
	return nil
}

// reportsLine reads what the endpoints report, or with a side first what that one reports alone; an empty list is an empty set.
func (p *fixtureParser) reportsLine(words []string) error {
	var all Reports
	side, alone := Side(0), false
	if len(words) > 0 {
		side, alone = ParseSide(words[0])
	}
	if alone {
		words = words[1:]
	}
	for _, w := range words {
		bit, ok := ParseReport(w)
		if !ok && w != "none" {
			return fmt.Errorf("reports %s: want none, or some of %s", w, strings.Join((^Reports(0)).Names(), ", "))
		}
		all |= bit
	}
	if !alone {
		p.f.Header.Reports = all
		return nil
	}
	p.f.Header.Reports = 0
	for i := range p.f.Header.Conns {
		p.f.Header.Conns[i].Ends[side].Reports = all
	}
	return nil
}

// qpLine reads "qp [A|B] [conn=1] key=value…": attributes of both ends, or of one.
func (p *fixtureParser) qpLine(words []string) error {
	sides := []Side{A, B}
	if len(words) > 0 {
		if s, ok := ParseSide(words[0]); ok {
			sides, words = []Side{s}, words[1:]
		}
	}
	conn, words, err := p.qpConn(words)
	if err != nil {
		return err
	}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		for _, s := range sides {
			if err := p.setEnd(conn, s, key, value); err != nil {
				return fmt.Errorf("qp %s: %w", w, err)
			}
		}
	}
	return nil
}

// qpConn takes the word conn=N out; the connection after the last one comes into being by being named.
func (p *fixtureParser) qpConn(words []string) (*Conn, []string, error) {
	h := &p.f.Header
	if len(words) == 0 || !strings.HasPrefix(words[0], "conn=") {
		return &h.Conns[0], words, nil
	}
	n, err := strconv.Atoi(words[0][len("conn="):])
	if err != nil || n < 0 || n > len(h.Conns) || n >= fixtureConns {
		return nil, nil, fmt.Errorf("qp %s: connections are numbered from 0 without gaps, below %d", words[0], fixtureConns)
	}
	if n == len(h.Conns) {
		h.Conns = append(h.Conns, defaultConn(n, p.base))
	}
	return &h.Conns[n], words[1:], nil
}

// setEnd sets one attribute of one end.
func (p *fixtureParser) setEnd(c *Conn, s Side, key, value string) (err error) {
	e := &c.Ends[s]
	if name, ok := strings.CutPrefix(key, "param."); ok {
		if e.QP.Params == nil {
			e.QP.Params = engine.Params{}
		}
		e.QP.Params[name] = value
		return nil
	}
	switch key {
	case "rto":
		e.QP.RTO, err = vtime.ParseDuration(value)
		return err
	case "rtt":
		e.QP.Path.RTT, err = vtime.ParseDuration(value)
		return err
	case "rate":
		e.QP.Path.Rate, err = unit.ParseRate(value)
		return err
	case "addr":
		e.Addr, err = netip.ParseAddr(value)
		return err
	case "impl":
		e.Impl = value
		return nil
	}
	n, err := number(value, 0xFFFFFFFF)
	if err != nil {
		return err
	}
	switch key {
	case "start":
		setStart(c, s, p.base.Add(int(n)))
	case "qpn":
		e.QP.QPN = uint32(n) & psn.Mask
		c.Ends[s.Other()].QP.DestQPN = e.QP.QPN
	case "port":
		e.Port = uint16(n)
	default:
		return setQP(&e.QP, key, n)
	}
	return nil
}

// setQP sets a numeric attribute; the keys are those of FORMAT.md.
func setQP(q *engine.QP, key string, n uint64) error {
	ints := map[string]*int{
		"mtu": &q.MTU, "qd": &q.QueueDepth, "rq": &q.ReceiveDepth, "cqmod": &q.CQModeration,
		"ackreq": &q.AckReqEvery, "coalesce": &q.AckCoalesce, "rd": &q.MaxRdAtomic, "destrd": &q.MaxDestRd,
	}
	if field, ok := ints[key]; ok {
		*field = int(n)
		return nil
	}
	switch key {
	case "timeout":
		q.Timeout = engine.LocalACKTimeout(n & 31)
	case "retry":
		q.RetryCount = uint8(n)
	case "rnr":
		q.RNRRetry = uint8(n)
	case "minrnr":
		q.MinRNRTimer = roce.RNRTimer(n & 31)
	case "pkey":
		q.PKey = uint16(n)
	case "pd":
		q.PD = uint32(n)
	case "access":
		q.Access = engine.Access(n)
	case "message":
		q.Path.Message = uint32(n)
	default:
		return fmt.Errorf("unknown attribute")
	}
	return nil
}

// number reads a decimal or 0x number not above most.
func number(s string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("%q: want a number up to %d", s, most)
	}
	return n, nil
}
