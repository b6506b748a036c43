package srnic

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

func recipes() []broken.Recipe {
	return []broken.Recipe{
		{Name: "bitmap-on-chip", Breaks: "A QP keeps a bitmap of 500 packets on the chip.",
			Catches: "SRN-QP-001", Scenarios: "messages", Tamper: bitmapOnChip},
		{Name: "costs-twice", Breaks: "A retransmission costs its receiver four queries.",
			Catches: "SRN-MOD-001", Scenarios: "busy", Params: engine.Params{"queries": "4"}},
		{Name: "forgets-stall", Breaks: "Half of the time that queries take is not reported.",
			Catches: "SRN-STL-001", Scenarios: "single", Tamper: forgetsStall},
		{Name: "never-repeats", Breaks: "Packets that a SACK shows to be missing are not retransmitted.",
			Catches: "SRN-RTX-001", Scenarios: "long", Tamper: neverRepeats},
		{Name: "no-stall", Breaks: "A bitmap query takes no time.",
			Catches: "SRN-MOD-001 SRN-STL-001", Scenarios: "busy", Params: engine.Params{"tq": "0"}},
		{Name: "repeats-all", Breaks: "The first SACK makes the sender go back N.",
			Catches: "SRN-RTX-001", Scenarios: "long", Tamper: repeatsAll},
		{Name: "same-address", Breaks: "Every packet of a WRITE carries the address of the first.",
			Catches: "SRN-PLC-001", Scenarios: "messages", Tamper: sameAddress},
		{Name: "stalls-always", Breaks: "The bitmap is queried for packets in order, too.",
			Catches: "SRN-STL-002", Scenarios: "messages", Tamper: stallsAlways},
		{Name: "zero-offset", Breaks: "Every packet of a SEND carries the offset of the first.",
			Catches: "SRN-PLC-001", Scenarios: "messages", Tamper: zeroOffset},
	}
}

func bitmapOnChip(e *shell.End) {
	e.Resp.Report = func(v shell.Vars) { *v.At("qp_sr_bytes") += 500 / 8 }
}

func forgetsStall(e *shell.End) {
	e.Resp.Report = func(v shell.Vars) { *v.At("resp_stalled_ps") /= 2 }
}

// stallsAlways reports a bitmap query for every packet.
func stallsAlways(e *shell.End) {
	arrived := int64(0)
	e.Resp.In = func(*roce.Packet) bool { arrived++; return true }
	e.Resp.Report = func(v shell.Vars) {
		*v.At("resp_bitmap_queries") += arrived
		*v.At("resp_stalled_ps") += arrived * 1_400_000
	}
}

// neverRepeats drops retransmissions.
func neverRepeats(e *shell.End) {
	next := e.QP.SendPSN
	e.Req.Out = func(p *roce.Packet) bool {
		if p.PSN != next {
			return p.Opcode.IsReadAck()
		}
		next = p.PSN.Next()
		return true
	}
}

// repeatsAll keeps copies of all packets, and at the first SACK retransmits all of them from the expected packet on.
func repeatsAll(e *shell.End) {
	var sent []roce.Packet
	done := false
	e.Req.Out = func(p *roce.Packet) bool {
		if !done {
			sent = append(sent, *p)
		}
		return true
	}
	e.Req.In = func(p *roce.Packet) bool {
		if p.Opcode == roce.FaSRSack && !done && len(sent) > 2*8 {
			done = true
			for _, q := range sent {
				if psn.Max(q.PSN, p.PSN) == q.PSN {
					e.Req.Send(q)
				}
			}
		}
		return true
	}
}

func sameAddress(e *shell.End) {
	first := uint64(0)
	e.Req.Out = func(p *roce.Packet) bool {
		switch {
		case p.Opcode.IsWrite() && p.Opcode.StartsMessage():
			first = p.RETH.VA
		case p.Opcode.IsWrite():
			p.RETH.VA = first
		}
		return true
	}
}

func zeroOffset(e *shell.End) {
	e.Req.Out = func(p *roce.Packet) bool {
		p.SO.Offset = 0
		return true
	}
}
