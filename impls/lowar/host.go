package lowar

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Host is what all QPs of an endpoint share: the Encoding Buffer, the Decoding Buffer, the Reordering Buffer (Figure
// 5), and what the QPs of the engine above share.
type Host struct {
	cfg      config
	keeps    bool // the engine above keeps what comes early
	inner    engine.Host
	encoding *units
	decoding *units
	rob      *reorder

	scratch  []byte      // the packet that is being coded or recovered
	repaired roce.Packet // the packet that was recovered last
}

// newHost makes the shared part of one endpoint, and that of the engine above. The error names the parameter that is
// rejected.
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
	r.half = half{up: req, enc: newEncoder(h, qp.DestQPN, false, qp.MTU), dec: newDecoder(h, req, &qp,
		qp.SendPSN, false)}
	r.dec.reads = &r.reads
	s := &Responder{above: resp}
	s.half = half{up: resp, enc: newEncoder(h, qp.DestQPN, true, qp.MTU), dec: newDecoder(h, resp, &qp,
		qp.RecvPSN, h.keeps)}
	return r, s, nil
}

// image returns the bytes of a packet that are coded, valid until the next call: from the BTH to the end of the
// padding, with zero for the byte that routers may change.
func (h *Host) image(p *roce.Packet) []byte {
	h.scratch = p.AppendTransport(h.scratch[:0])
	h.scratch[4] = 0
	return h.scratch
}
