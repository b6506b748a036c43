package drive

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pipe is a host whose QPs share a buffer, so that a packet of one QP causes placements of all.
type pipe struct{ mems []engine.Memory }

func (p *pipe) New(_ engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	p.mems = append(p.mems, mem)
	return &fake{timer: vtime.Never}, &pushed{fake{timer: vtime.Never}, p}, nil
}

// pushed is a responder that stores something for every QP of its host when a packet arrives.
type pushed struct {
	fake
	host *pipe
}

func (r *pushed) HandlePacket(vtime.Time, *roce.Packet) {
	for i, m := range r.host.mems {
		m.Store(Target(i), nil, 8+i)
	}
}

// A placement is reported for the QP that owns the memory, and not for the QP whose packet caused it.
func TestPlacementsAreTheirQPs(t *testing.T) {
	s := lines(t, "qp count=3", "report detail")
	var seen events
	impl := engine.Implementation{Name: "pipe", NewHost: func(engine.Params) (engine.Host, error) {
		return &pipe{}, nil
	}}
	e, err := New(s, trace.B, impl, Options{Observer: &seen})
	if err != nil {
		t.Fatal(err)
	}
	e.Start(0)
	p := roce.Packet{BTH: roce.BTH{Opcode: roce.WriteOnly, DestQP: s.Ends(1)[trace.B].QPN, PKey: roce.DefaultPKey}}
	e.Receive(1, &p)
	stores := 0
	for _, ev := range seen {
		if ev.Kind != trace.Store {
			continue
		}
		if stores++; ev.VA != Target(ev.Conn) || ev.Len != uint32(8+ev.Conn) {
			t.Errorf("%d bytes at %#x are told of connection %d", ev.Len, ev.VA, ev.Conn)
		}
	}
	if stores != 3 {
		t.Errorf("%d placements, want 3", stores)
	}
}
