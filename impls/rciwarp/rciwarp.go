package rciwarp

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:     "rciwarp",
		Title:    "iWARP over TCP: RDMAP, DDP and MPA on a reliable connection",
		Source:   "RFC 5040, RFC 5041, RFC 5044",
		Params:   params(),
		Recover:  "rciw",
		Features: []string{"iwarp"},
		Accepts:  func(o roce.Opcode) bool { return o == roce.TCP },
		NewHost:  func(engine.Params) (engine.Host, error) { return &Host{}, nil },
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			return new(Host).New(qp, mem)
		},
		NewStream: func(qp engine.QP, mem engine.Memory) (engine.Stream, error) {
			cfg, err := configure(&qp)
			if err == nil {
				err = liteOnly(qp.Params)
			}
			return newStream(&qp, cfg, mem), err
		},
	}
}

// Host is shared by the connections over TCP-lite of one endpoint. It holds the one buffer in which segments are built:
// with thousands of QPs, a buffer for each would not stay in the caches.
type Host struct{ segment []byte }

// New implements engine.Host: it returns the two halves of one end of a QP over TCP-lite, which share a connection. The
// error names the rejected attribute or parameter.
func (h *Host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	cfg, err := configure(&qp)
	if err != nil {
		return nil, nil, err
	}
	c, err := newConn(&qp, cfg, mem, h)
	if err != nil {
		return nil, nil, err
	}
	return &Requester{c}, &Responder{c}, nil
}

// configure reads the parameters of a QP and checks its attributes.
func configure(qp *engine.QP) (config, error) {
	cfg, err := parse(qp.Params)
	if err == nil {
		err = validate(qp)
	}
	return cfg, err
}

// maxDepth bounds every queue of a QP.
const maxDepth = 1 << 20

// validate rejects attributes that no QP can have.
func validate(qp *engine.QP) error {
	for _, a := range []struct {
		name         string
		n, low, high int
	}{
		{"QueueDepth", qp.QueueDepth, 1, maxDepth}, {"ReceiveDepth", qp.ReceiveDepth, 0, maxDepth},
		{"MaxRdAtomic", qp.MaxRdAtomic, 0, maxDepth}, {"MaxDestRd", qp.MaxDestRd, 0, maxDepth},
	} {
		if a.n < a.low || a.n > a.high {
			return fmt.Errorf("rciwarp: %s %d: want %d to %d", a.name, a.n, a.low, a.high)
		}
	}
	if qp.QPN == qp.DestQPN {
		return fmt.Errorf("rciwarp: QPN and DestQPN are both %#x: the lower one opens the connection", qp.QPN)
	}
	return nil
}
