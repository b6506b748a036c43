package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// hasty completes the work requests that match when they are posted, and drops their real completions.
func hasty(match func(op engine.Op) bool) func(*end) {
	return func(e *end) {
		e.req.post = func(wr *engine.WorkRequest) bool {
			if match(wr.Op) {
				e.req.report(engine.Event{Kind: engine.CQE, Op: wr.Op, ID: wr.ID})
			}
			return true
		}
		e.req.event = func(ev *engine.Event) bool { return ev.Kind != engine.CQE || !match(ev.Op) }
	}
}

// completions are the variants that report wrong completions.
func completions() []recipe {
	return []recipe{
		{name: "cqe-swapped", breaks: "completes work requests in pairs, the later one first", catches: "RC-CQE-001",
			scenarios: "loss",
			tamper: func(e *end) {
				var held []engine.Event
				e.req.event = func(ev *engine.Event) bool {
					if ev.Kind != engine.CQE || ev.ID&1 == 0 {
						held = append(held, *ev)
						return false
					}
					e.req.events, held = append(e.req.events, held...), nil
					return true
				}
			}},
		{name: "flush-lost", breaks: "forgets the work requests that an error leaves behind", catches: "RC-CQE-004",
			scenarios: "bad-key",
			tamper: func(e *end) {
				e.req.event = func(ev *engine.Event) bool {
					return ev.Kind != engine.CQE || ev.Status != engine.StatusFlushed
				}
			}},
		{name: "read-acked", breaks: "completes a READ at an ACK of a later request", catches: "RC-READ-005",
			scenarios: "read-loss",
			tamper: func(e *end) {
				var reads []engine.WorkRequest
				e.req.post = func(wr *engine.WorkRequest) bool {
					if wr.Op == engine.OpRead {
						reads = append(reads, *wr)
					}
					return true
				}
				e.req.in = func(p *roce.Packet) bool {
					if isACK(p) && len(reads) > 0 {
						e.req.report(engine.Event{Kind: engine.CQE, Op: engine.OpRead, ID: reads[0].ID})
						reads = reads[1:]
					}
					return true
				}
			}},
		{name: "read-hasty", breaks: "completes a READ before its data are there", catches: "RC-CQE-003",
			scenarios: "mixed",
			tamper:    hasty(func(op engine.Op) bool { return op == engine.OpRead })},
		{name: "receive-length", breaks: "reports one byte too many in receive completions", catches: "RC-CQE-005",
			scenarios: "mixed",
			tamper: func(e *end) {
				e.resp.event = func(ev *engine.Event) bool { ev.Len++; return true }
			}},
		{name: "write-hasty", breaks: "completes SENDs and WRITEs before they are acknowledged", catches: "RC-CQE-002",
			scenarios: "mixed",
			tamper:    hasty(func(op engine.Op) bool { return op < engine.OpRead })},
	}
}

// placements are the variants that put the wrong bytes into memory.
func placements() []recipe {
	return []recipe{
		{name: "atomic-twice", breaks: "executes a duplicate atomic again", catches: "RC-PSN-006",
			scenarios: "duplicates",
			tamper: func(e *end) {
				seen := map[psn.PSN]bool{}
				e.resp.in = func(p *roce.Packet) bool {
					if p.Opcode == roce.FetchAdd && seen[p.PSN] {
						e.mem.Memory.Store(p.RETH.VA, []byte{9, 9, 9, 9, 9, 9, 9, 9}, 8)
					}
					seen[p.PSN] = true
					return true
				}
			}},
		{name: "memory-flips", breaks: "flips a bit of what it places", catches: "RC-MEM-001 WRK-MEM-001",
			scenarios: "mixed",
			tamper: func(e *end) {
				e.mem.store = func(va uint64, data []byte, n int) bool {
					if len(data) > 0 {
						data = append([]byte(nil), data...)
						data[len(data)-1] ^= 0x80
					}
					return e.mem.Memory.Store(va, data, n)
				}
			}},
		{name: "memory-late", breaks: "completes a SEND before earlier WRITEs are in memory",
			catches: "RC-ORD-002", scenarios: "order",
			tamper: func(e *end) {
				flush := func() {}
				e.mem.store = func(va uint64, data []byte, n int) bool {
					flush()
					data = append([]byte(nil), data...)
					flush = func() { e.mem.Memory.Store(va, data, n) }
					return true
				}
			}},
		{name: "memory-once", breaks: "keeps the first of two WRITEs to the same bytes", catches: "RC-ORD-001",
			scenarios: "order",
			tamper: func(e *end) {
				seen := map[uint64]bool{}
				e.mem.store = func(va uint64, data []byte, n int) bool {
					again := seen[va]
					seen[va] = true
					return again || e.mem.Memory.Store(va, data, n)
				}
			}},
	}
}
