package lowar

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Host is the state that all QPs of an endpoint share: the Encoding Buffer, the Decoding Buffer, the Reordering Buffer
// (Figure 5), and the Host of the engine above.
type Host struct {
	cfg      config
	keeps    bool        // the engine above keeps out-of-order packets (feature "sr")
	inner    engine.Host // Host of the engine above
	encoding *units
	decoding *units
	rob      *reorder

	scratch  []byte      // image of the packet that is being coded or recovered; valid until the next packet
	repaired roce.Packet // packet recovered last
}

// newHost returns the Host of one endpoint, with that of the engine above. The error names the parameter that it
// rejects.
func newHost(given engine.Params, inner *engine.Implementation) (*Host, error) {
	cfg, err := parse(given, inner)
	if err != nil {
		return nil, err
	}
	above, err := inner.Host(cfg.inner)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, keeps: slices.Contains(inner.Features, "sr"), inner: above,
		encoding: newUnits(cfg.units), decoding: newUnits(cfg.units), rob: newReorder(cfg.rob)}, nil
}

// New builds the two halves of one end of a QP: those of the engine above, each in its half of the shim. The parameters
// are those of the host.
func (h *Host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	qp.Params = h.cfg.inner
	req, resp, err := h.inner.New(qp, mem)
	if err != nil {
		return nil, nil, err
	}
	r := &Requester{above: req}
	r.half = half{up: req, enc: newEncoder(h, qp.DestQPN, false, qp.MTU),
		dec: newDecoder(h, req, &qp, qp.SendPSN, false)}
	r.dec.reads = &r.reads
	s := &Responder{above: resp}
	s.half = half{up: resp, enc: newEncoder(h, qp.DestQPN, true, qp.MTU),
		dec: newDecoder(h, resp, &qp, qp.RecvPSN, h.keeps)}
	return r, s, nil
}

// image returns the coded bytes of a packet: from the BTH to the end of the padding, with zero for the byte that
// routers may change. The result is valid until the next call.
func (h *Host) image(p *roce.Packet) []byte {
	h.scratch = p.AppendTransport(h.scratch[:0])
	h.scratch[4] = 0
	return h.scratch
}
