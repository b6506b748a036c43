package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

// paths are the receivers that recover on the wrong path, or hold state that they do not need.
func paths() []broken.Recipe {
	return []broken.Recipe{
		{Name: "bitmap-for-one", Breaks: "holds a block for one missing packet", Catches: "FASR-FAST-001",
			Scenarios: "single",
			Tamper: reporting(func(v shell.Vars) {
				if *v.At("rcv_path") == 1 {
					*v.At("rcv_blocks") = 1
				}
			})},
		{Name: "blocks-kept", Breaks: "keeps blocks below the expected PSN", Catches: "FASR-SLOW-004",
			Scenarios: "long",
			Tamper: func(e *shell.End) {
				most := int64(0)
				reporting(func(v shell.Vars) {
					if most = max(most, *v.At("rcv_blocks")); *v.At("rcv_path") != 2 {
						most = 0
					}
					*v.At("rcv_blocks") = most
				})(e)
			}},
		{Name: "compression-never", Breaks: "never compresses an offset", Catches: "FASR-SLOW-003", Scenarios: "far",
			Tamper: reporting(func(v shell.Vars) { *v.At("rcv_compression_cnt") = 0 })},
		{Name: "fast-stays", Breaks: "stays in recovery when the one missing packet has come", Catches: "FASR-FAST-002",
			Scenarios: "single",
			Tamper: func(e *shell.End) {
				before := int64(0)
				reporting(func(v shell.Vars) {
					now := *v.At("rcv_path")
					*v.At("rcv_path") = max(now, before)
					before = now
				})(e)
			}},
		{Name: "slow-stays", Breaks: "stays on the slow path with one packet missing", Catches: "FASR-SLOW-002",
			Scenarios: "burst",
			Tamper: func(e *shell.End) {
				was := false
				reporting(func(v shell.Vars) {
					path := v.At("rcv_path")
					was = *path == 2 || was && *path != 0
					if was {
						*path = 2
					}
				})(e)
			}},
		{Name: "unit-always", Breaks: "holds SR state for a QP without loss", Catches: "FASR-NRM-001",
			Scenarios: "clean",
			Tamper:    reporting(func(v shell.Vars) { *v.At("rcv_path") = 1 })},
	}
}

// counts are the receivers that count missing packets wrongly.
func counts() []broken.Recipe {
	return []broken.Recipe{
		{Name: "count-frozen", Breaks: "does not count a second gap", Catches: "FASR-LC-002", Scenarios: "two",
			Tamper: func(e *shell.End) {
				first := uint8(0)
				answering(func(_ *shell.End, p *roce.Packet) bool {
					switch {
					case isACK(p):
						first = 0
					case isSACK(p) && first == 0:
						first = p.SACK.LostCnt
					case isSACK(p):
						p.SACK.LostCnt = first
					}
					return true
				})(e)
			}},
		{Name: "count-kept", Breaks: "does not count a fill", Catches: "FASR-LC-003", Scenarios: "burst",
			Tamper: func(e *shell.End) {
				most := int64(0)
				reporting(func(v shell.Vars) {
					if most = max(most, *v.At("rcv_lost_cnt")); *v.At("rcv_path") == 0 {
						most = 0
					}
					*v.At("rcv_lost_cnt") = most
				})(e)
			}},
		{Name: "count-one", Breaks: "counts a gap of any length as one", Catches: "FASR-LC-001", Scenarios: "burst",
			Tamper: answering(func(_ *shell.End, p *roce.Packet) bool {
				p.SACK.LostCnt = min(p.SACK.LostCnt, 1)
				return true
			})},
		{Name: "sack-skipped", Breaks: "answers every second packet out of order", Catches: "FASR-LC-004",
			Scenarios: "single",
			Tamper: func(e *shell.End) {
				n := 0
				answering(func(_ *shell.End, p *roce.Packet) bool {
					if isSACK(p) {
						n++
					}
					return !isSACK(p) || n%2 == 1
				})(e)
			}},
	}
}

// pools are the receivers that manage their SR state wrongly.
func pools() []broken.Recipe {
	return []broken.Recipe{
		{Name: "fallback-forgets", Breaks: "discards the packets that it has when the pool runs out",
			Catches:   "FASR-POOL-004",
			Scenarios: "no-blocks",
			Tamper: func(e *shell.End) {
				before := false
				reporting(func(v shell.Vars) {
					now := *v.At("rcv_fallback") == 1
					if now && before {
						*v.At("rcv_path") = 0
					}
					before = now
				})(e)
			}},
		{Name: "fallback-sacks", Breaks: "sends a SACK behind the NAK of its fallback", Catches: "FASR-POOL-003",
			Scenarios: "no-units",
			Tamper: answering(func(e *shell.End, p *roce.Packet) bool {
				if p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr {
					x := *p
					x.Opcode, x.SACK = roce.FaSRSack, roce.SACKETH{PSN: p.PSN.Next(), LostCnt: 1}
					defer e.Resp.Send(x)
				}
				return true
			})},
		{Name: "pointers-uncounted", Breaks: "leaves the list pointers out of the size of its pool",
			Catches: "FASR-POOL-002", Scenarios: "single",
			Tamper: reporting(func(v shell.Vars) { *v.At("pool_bits") -= 70 * 8 })},
		{Name: "pool-small", Breaks: "has three blocks where seventy are promised", Catches: "FASR-POOL-005",
			Scenarios: "random",
			Params:    engine.Params{"blocks": "3"}},
		{Name: "unit-hidden", Breaks: "recovers without an SR state unit", Catches: "FASR-POOL-001", Scenarios: "qps",
			Tamper: func(e *shell.End) { e.Req.Report = func(v shell.Vars) { *v.At("sr_unit") = 0 } }},
	}
}

// answers are the receivers that send the wrong answer to a packet.
func answers() []broken.Recipe {
	return []broken.Recipe{
		{Name: "fill-one", Breaks: "does not look into the bitmap after a fill", Catches: "FASR-SLOW-001",
			Scenarios: "two",
			Tamper: func(e *shell.End) {
				next, lost := psn.PSN(0), uint8(0)
				answering(func(_ *shell.End, p *roce.Packet) bool {
					switch {
					case isSACK(p):
						next, lost = p.PSN, p.SACK.LostCnt
					case isACK(p) && lost > 1:
						p.PSN, lost = next, 0
					}
					return true
				})(e)
			}},
		{Name: "fill-sacked", Breaks: "answers a fill with a SACK of it", Catches: "FASR-ACK-001", Scenarios: "burst",
			Tamper: func(e *shell.End) {
				sacked := false
				answering(func(_ *shell.End, p *roce.Packet) bool {
					if sacked && isACK(p) {
						p.Opcode, p.SACK = roce.FaSRSack, roce.SACKETH{PSN: p.PSN, LostCnt: 1}
						p.PSN = p.PSN.Next()
					}
					sacked = isSACK(p)
					return true
				})(e)
			}},
		{Name: "fnack-as-sack", Breaks: "answers a packet below sack-high with a SACK", Catches: "FASR-FNK-001",
			Scenarios: "fnack",
			Tamper: answering(func(_ *shell.End, p *roce.Packet) bool {
				if p.Opcode == roce.FNACK {
					p.Opcode = roce.FaSRSack
				}
				return true
			})},
		{Name: "read-unacknowledged", Breaks: "does not acknowledge READ requests", Catches: "FASR-RD-001",
			Scenarios: "reads",
			Tamper:    answering(func(_ *shell.End, p *roce.Packet) bool { return !isACK(p) })},
	}
}
