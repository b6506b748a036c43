package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Verdict is the result of a check: the syndrome to answer with, and the status that a receive or Fatal event reports.
type Verdict struct {
	Syndrome roce.Syndrome
	Status   engine.Status
}

// The verdicts of the checks, after IBTA 9.7.5.2.
var (
	Fine       = Verdict{roce.SyndromeACK, engine.StatusSuccess}
	Invalid    = Verdict{roce.SyndromeInvalidReq, engine.StatusRemoteInvalid}
	TooLong    = Verdict{roce.SyndromeInvalidReq, engine.StatusLocalLength}
	Forbidden  = Verdict{roce.SyndromeRemoteAccess, engine.StatusRemoteAccess}
	LocalFault = Verdict{roce.SyndromeRemoteOp, engine.StatusRemoteOp}
)

// CheckEnabled checks that the QP allows the operation.
func CheckEnabled(s *Shape, allowed engine.Access) Verdict {
	var right engine.Access
	switch s.Kind {
	case Write:
		right = engine.RemoteWrite
	case Read:
		right = engine.RemoteRead
	case Atomic:
		right = engine.RemoteAtomic
	}
	if allowed&right != right {
		return Invalid
	}
	return Fine
}

// CheckPayload checks the payload length of a SEND or WRITE packet against the MTU and the position of the packet in
// its message (NEG-LEN-003, NEG-LEN-004): FIRST and MIDDLE carry exactly one MTU, LAST at least one byte. A Pad of zero
// leaves the padding to the encoder.
func CheckPayload(p *roce.Packet, s *Shape, mtu int) Verdict {
	n := p.Len
	switch {
	case n < 0 || n > mtu || p.Pad != 0 && p.Pad != Pad(n) || p.Payload != nil && len(p.Payload) != n:
		return Invalid
	case !s.Last && n != mtu || s.Last && !s.First && n == 0:
		return Invalid
	}
	return Fine
}

// CheckFetch checks a READ or an atomic: it has no payload, a READ has a valid message length, an atomic has an aligned
// address, and the R_Key permits the whole range. An invalid request thus accesses no memory at all.
func CheckFetch(p *roce.Packet, s *Shape, qp *engine.QP, mem engine.Memory) Verdict {
	n, right := p.RETH.DMALen, engine.RemoteRead
	if s.Kind == Atomic {
		n, right = 8, engine.RemoteAtomic
	}
	switch {
	case p.Len != 0 || p.Pad != 0 || n > MaxMessage || s.Kind == Atomic && p.RETH.VA%8 != 0:
		return Invalid
	case !mem.Permit(qp.PD, p.RETH.RKey, p.RETH.VA, n, right):
		return Forbidden
	}
	return Fine
}

// CheckForeign rejects a READ or atomic in RC format at a transport whose responses have their own PSN space. The
// verdict is that of CheckFetch if that check fails, else Invalid: the operation is not supported.
func CheckForeign(p *roce.Packet, s *Shape, qp *engine.QP, mem engine.Memory) Verdict {
	if v := CheckFetch(p, s, qp, mem); v != Fine {
		return v
	}
	return Invalid
}
