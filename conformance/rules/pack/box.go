package pack

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// management is the state that the set-up messages of CM carry.
type management struct {
	asked, connected, left bool    // REQ, REP and DREQ were seen
	leaving                backlog // since the DREQ left for Remote
	fromA                  bool    // side A sent the REQ
	reqStart, repStart     psn.PSN // Starting PSNs of REQ and REP
	local                  uint32  // QPN of Local
	reqQPN                 uint32  // QPN in the REQ
}

// paper reports whether the box keeps nothing, so that the rules about its buffer do not apply.
func (p *path) paper() bool { return p.c.Attr.Params["buffer"] == "0" }

// spent reports whether the box has retransmitted the oldest unacknowledged request as often as it may.
func (p *path) spent() bool {
	most := retries
	if n, err := strconv.Atoi(p.c.Attr.Params["wan_retry"]); err == nil {
		most = n
	}
	return most == 0 || p.stuck == p.una && p.tries >= most
}

// retries is the default of wan_retry.
const retries = 7

// mayBeFull reports whether the buffer may hold more than the box may promise: by the box's report, or else by the
// requests that Remote has not acknowledged.
func (p *path) mayBeFull() bool {
	if p.told["buf_bytes"] {
		return p.probe["buf_bytes"] > p.probe["buffer"]
	}
	return p.c.Overfills(p.exp.Sub(p.una))
}

// managed processes a set-up message that enters or leaves the box.
func (p *path) managed(s *rule.Sight) {
	_, m, err := roce.DecodeCM(s.Pkt.Payload)
	if err != nil {
		p.cm.asked = true // the trace does not keep the content of the message
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
	m.connected, m.repStart, m.local = true, rep.StartingPSN, m.reqQPN
	if !m.fromA {
		m.local = rep.QPN
	}
}

// start returns the first PSN of Local, from the message that Remote sent (IBTA 12.6.5, 12.6.8).
func (p *path) start() psn.PSN {
	if p.cm.fromA {
		return p.cm.repStart
	}
	return p.cm.reqStart
}

// event processes the probes and counts of the box, and the fatal events of Remote.
func (p *path) event(e *trace.Event) {
	p.fatal = p.fatal || e.Kind == trace.Fatal && e.Side == trace.B
	if p.ofBox(e) && (e.Kind == trace.Probe || e.Kind == trace.Count) {
		p.probe[e.Name], p.told[e.Name] = e.Value, true
	}
}

// ofBox reports whether an event is of the box: of side A on the second hop.
func (p *path) ofBox(e *trace.Event) bool { return e.Side == trace.A && e.Conn != p.c.Index }

// psn returns a variable of the box that is a PSN; ok is false if it was not reported.
func (p *path) psn(name string) (psn.PSN, bool) {
	return psn.New(uint32(p.probe[name])), p.told[name]
}
