package pack

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// management is the state that the set-up messages of CM have told.
type management struct {
	asked, connected, left bool
	leaving                backlog // since the DREQ went to Remote
	fromA                  bool    // A asked
	reqStart, repStart     psn.PSN // as in the messages
	local, remote          uint32
	reqQPN                 uint32
}

// paper reports a box that keeps nothing, which the rules about its buffer do not fit.
func (p *path) paper() bool { return p.c.Attr.Params["buffer"] == "0" }

// spent reports whether the box has sent the oldest request that Remote has not acknowledged again as often as it may.
func (p *path) spent() bool {
	most := retries
	if n, err := strconv.Atoi(p.c.Attr.Params["wan_retry"]); err == nil {
		most = n
	}
	return most == 0 || p.stuck == p.una && p.tries >= most
}

// retries is how often the box sends a request again when it is not told.
const retries = 7

// mayBeFull reports whether the buffer may hold more than the box may promise: as it tells, or where it does not by
// what Remote has not acknowledged.
func (p *path) mayBeFull() bool {
	if p.told["buf_bytes"] {
		return p.probe["buf_bytes"] > p.probe["buffer"]
	}
	return p.c.Overfills(p.exp.Sub(p.una))
}

// managed takes a set-up message where it enters or leaves the box.
func (p *path) managed(s *rule.Sight) {
	_, m, err := roce.DecodeCM(s.Pkt.Payload)
	if err != nil {
		p.cm.asked = true // a message whose content this trace does not keep
		return
	}
	switch m := m.(type) {
	case *roce.REQ:
		if !s.Out {
			p.cm = management{asked: true, fromA: s.Rec.From == trace.A, reqStart: m.StartingPSN, reqQPN: m.QPN}
		}
	case *roce.REP:
		if !s.Out && p.cm.asked && !p.cm.connected {
			p.cm.connect(m)
			p.begin(p.start())
			p.based, p.base, p.shown, p.fatal = true, 0, 0, false
		}
	case *roce.DREQ:
		if s.Out && !p.cm.left {
			p.cm.left, p.cm.leaving = true, backlog{s.At, p.exp}
		}
	}
}

// connect completes the connection that a REQ began.
func (m *management) connect(rep *roce.REP) {
	m.connected, m.repStart, m.local, m.remote = true, rep.StartingPSN, m.reqQPN, rep.QPN
	if !m.fromA {
		m.local, m.remote = rep.QPN, m.reqQPN
	}
}

// start is the first PSN of Local: in the message that Remote sent (IBTA 12.6.5, 12.6.8).
func (p *path) start() psn.PSN {
	if p.cm.fromA {
		return p.cm.repStart
	}
	return p.cm.reqStart
}

// event takes the probes and events of the box.
func (p *path) event(e *trace.Event) {
	p.fatal = p.fatal || e.Kind == trace.Fatal && e.Side == trace.B
	if p.ofBox(e) && (e.Kind == trace.Probe || e.Kind == trace.Count) {
		p.probe[e.Name], p.told[e.Name] = e.Value, true
	}
}

// ofBox reports an event of the box: of the end A of the second hop.
func (p *path) ofBox(e *trace.Event) bool { return e.Side == trace.A && e.Conn != p.c.Index }

// psn returns a variable of the box that is a PSN.
func (p *path) psn(name string) (psn.PSN, bool) {
	return psn.New(uint32(p.probe[name])), p.told[name]
}
