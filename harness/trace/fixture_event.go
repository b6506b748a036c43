package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// event reads "SIDE KIND …".
func (p *fixtureParser) event(at vtime.Time, words []string) error {
	side, ok := ParseSide(p.reporter(words[0]))
	if !ok || len(words) < 2 {
		return fmt.Errorf("%q: want a packet (A>B …), an event (A cqe …) or a header line", strings.Join(words, " "))
	}
	kind, ok := ParseEventKind(words[1])
	if !ok {
		return fmt.Errorf("event %s: want one of %s", words[1], strings.Join(kindNames(), ", "))
	}
	e := Event{At: at, Side: side, Kind: kind, Conn: p.shift, Body: engine.Event{Kind: kind.Body()}}
	words, err := p.eventConn(&e, words[2:])
	if err != nil {
		return err
	}
	switch kind {
	case Timer:
		err = p.timerEvent(&e, words)
	case Probe, Count, Memory:
		return p.valueEvents(e, words)
	default:
		err = p.eventWords(&e, words)
	}
	if err != nil {
		return err
	}
	p.inferOp(&e)
	p.addEvent(e)
	return nil
}

// kindNames lists the kinds of events by name.
func kindNames() (names []string) {
	for k := range EventKinds {
		names = append(names, k.String())
	}
	return names
}

// eventConn takes the word conn=N out.
func (p *fixtureParser) eventConn(e *Event, words []string) ([]string, error) {
	for i, w := range words {
		if text, ok := strings.CutPrefix(w, "conn="); ok {
			n, err := p.conn(text)
			e.Conn = n
			return append(words[:i:i], words[i+1:]...), err
		}
	}
	return words, nil
}

// conn reads the number of a connection that exists.
func (p *fixtureParser) conn(text string) (int, error) {
	n, err := strconv.Atoi(text)
	n += p.shift
	if err != nil || n < 0 || n >= len(p.f.Header.Conns) {
		return 0, fmt.Errorf("conn=%s: not declared; begin the fixture with: qp conn=%s", text, text)
	}
	return n, nil
}

// eventWords reads names of operations and statuses, and key=value pairs.
func (p *fixtureParser) eventWords(e *Event, words []string) error {
	for _, w := range words {
		key, value, pair := strings.Cut(w, "=")
		var err error
		switch {
		case key == "psn":
			e.Body.PSN, err = p.eventPSN(e, value)
		case pair:
			err = setEvent(e, key, value)
		default:
			err = nameEvent(e, w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

// eventPSN reads an absolute PSN or one relative to the requests of the side; what a side receives is relative to the
// requests of its peer.
func (p *fixtureParser) eventPSN(e *Event, text string) (psn.PSN, error) {
	q := &p.f.Header.Conns[e.Conn].Ends[e.Side].QP
	if e.Kind == Recv {
		return relativePSN(text, q.RecvPSN)
	}
	return relativePSN(text, q.SendPSN)
}

// relativePSN reads "+3" and "-1" relative to start, and "3" as it stands.
func relativePSN(text string, start psn.PSN) (psn.PSN, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n > psn.Mask || n < -psn.Half {
		return 0, fmt.Errorf("want a PSN, such as +3")
	}
	if text[0] == '+' || text[0] == '-' {
		return start.Add(n), nil
	}
	return psn.New(uint32(n)), nil
}

// setEvent sets a numeric field. The length of a completed receive is that of the completion; all others are ranges.
func setEvent(e *Event, key, value string) error {
	n, err := strconv.ParseUint(value, 0, 64)
	if err != nil {
		return fmt.Errorf("want a number")
	}
	switch key {
	case "wr":
		e.Body.ID = n
	case "va":
		e.VA = n
	case "len":
		if e.Kind == Recv {
			e.Body.Len = uint32(n)
		} else {
			e.Len = uint32(n)
		}
	case "sum":
		e.Sum = uint32(n)
	case "rkey":
		e.RKey = uint32(n)
	case "imm":
		e.Body.Imm = uint32(n)
	case "inv":
		e.Body.InvKey = uint32(n)
	case "peer":
		e.Body.Peer = uint16(n)
	case "bytes":
		e.Body.Len = uint32(n)
	default:
		return fmt.Errorf("unknown word")
	}
	return nil
}

// nameEvent takes the name of a status or an operation, or the word of a chunk that others follow.
func nameEvent(e *Event, w string) error {
	if w == "more" && e.Kind == Declared {
		e.Body.More = true
		return nil
	}
	for s := engine.StatusSuccess; s <= engine.StatusRNRRetryExceeded; s++ {
		if s.String() == w {
			e.Body.Status = s
			return nil
		}
	}
	op, ok := opNamed(w)
	if !ok {
		return fmt.Errorf("unknown word")
	}
	e.Body.Op = op
	return nil
}

// opNamed finds an operation by the name that it prints.
func opNamed(w string) (engine.Op, bool) {
	for op := engine.OpSend; op <= engine.OpFetchAdd; op++ {
		if op.String() == w {
			return op, true
		}
	}
	return 0, false
}

// work names a work request of a fixture.
type work struct {
	conn int
	side Side
	id   uint64
}

// inferOp gives a completion the operation of the work request it completes, so that a fixture need not repeat it.
func (p *fixtureParser) inferOp(e *Event) {
	w := work{e.Conn, e.Side, e.Body.ID}
	switch e.Kind {
	case Post:
		p.posted[w] = e.Body.Op
	case CQE:
		if op, ok := p.posted[w]; ok {
			e.Body.Op = op
		}
	}
}

// timerEvent reads "off", or how long from now the timer will run.
func (p *fixtureParser) timerEvent(e *Event, words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("timer: want off or a duration")
	}
	if words[0] == "off" {
		e.Deadline = vtime.Never
		return nil
	}
	d, err := vtime.ParseDuration(words[0])
	e.Deadline = e.At.Add(d)
	return err
}

// valueEvents reads name=value pairs, an event each. A value with a sign is a PSN relative to the requests of the side;
// of variables that follow the peer's requests (epsn, and names that begin with rcv_) to those of the peer.
func (p *fixtureParser) valueEvents(e Event, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("%v: want name=value", e.Kind)
	}
	q := &p.f.Header.Conns[e.Conn].Ends[e.Side].QP
	for _, w := range words {
		name, text, _ := strings.Cut(w, "=")
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil || name == "" {
			return fmt.Errorf("%s: want name=number", w)
		}
		e.Name, e.Value = name, n
		if e.Kind == Probe && (text[0] == '+' || text[0] == '-') {
			start := q.SendPSN
			if name == "epsn" || strings.HasPrefix(name, "rcv_") {
				start = q.RecvPSN
			}
			e.Value = int64(start.Add(int(n)))
		}
		p.addEvent(e)
	}
	return nil
}
