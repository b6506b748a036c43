package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// posting sets a hook that changes each work request before the engine gets it.
func posting(change func(wr *engine.WorkRequest)) func(*end) {
	return func(e *end) {
		e.req.post = func(wr *engine.WorkRequest) bool { change(wr); return true }
	}
}

// work are the variants that execute work requests wrongly, or report them wrongly.
func work() []recipe { return append(misdone(), mistold()...) }

// misdone are the variants that send other requests than those posted, or none.
func misdone() []recipe {
	return []recipe{
		{name: "work-half", breaks: "takes ten requests and no more", catches: "WRK-POST-001 WRK-IDLE-001",
			scenarios: "work",
			tamper: func(e *end) {
				taken := 0
				e.req.full = func() bool { taken++; return taken > 10 }
			}},
		{name: "work-short", breaks: "WRITEs 512 bytes where more are asked for", catches: "WRK-WIRE-001",
			scenarios: "work",
			tamper:    posting(func(wr *engine.WorkRequest) { wr.Len = min(wr.Len, 512) })},
		{name: "work-send", breaks: "executes WRITEs as SENDs", catches: "WRK-WIRE-001", scenarios: "work",
			tamper: posting(func(wr *engine.WorkRequest) {
				if wr.Op == engine.OpWrite {
					wr.Op = engine.OpSend
				}
			})},
		{name: "work-astray", breaks: "WRITEs every seventh message to another address", catches: "WRK-WIRE-001",
			scenarios: "work",
			tamper: posting(func(wr *engine.WorkRequest) {
				if wr.ID%7 == 6 {
					wr.RemoteVA += 64
				}
			})},
		{name: "work-imm", breaks: "sends another immediate", catches: "WRK-WIRE-001", scenarios: "work",
			tamper: posting(func(wr *engine.WorkRequest) { wr.Imm++ })},
		{name: "work-swapped", breaks: "sends requests in pairs, the later one first", catches: "WRK-WIRE-002",
			scenarios: "work",
			tamper: func(e *end) {
				var held []engine.WorkRequest
				inner := e.req.inner.(engine.Requester)
				e.req.post = func(wr *engine.WorkRequest) bool {
					if held = append(held, *wr); len(held) < 2 {
						return false
					}
					_ = inner.Post(e.req.now, held[1]) // a full queue loses this request
					_ = inner.Post(e.req.now, held[0])
					held = nil
					return false
				}
			}},
		{name: "work-stops", breaks: "forgets that it waits for an answer", catches: "WRK-PROG-001",
			scenarios: "last-lost",
			tamper: func(e *end) {
				e.req.timer = func(vtime.Time, bool) (vtime.Time, bool) { return 0, false }
			}},
	}
}

// mistold are the variants that report completions, errors or counts that are wrong.
func mistold() []recipe {
	return []recipe{
		{name: "cqe-twice", breaks: "completes every fifth request twice", catches: "WRK-CQE-001", scenarios: "work",
			tamper: func(e *end) {
				e.req.event = func(ev *engine.Event) bool {
					if ev.Kind == engine.CQE && ev.ID%5 == 4 {
						e.req.report(*ev)
					}
					return true
				}
			}},
		{name: "cqe-invents", breaks: "completes a refused request with another error than the NAK has",
			catches: "WRK-CQE-002", scenarios: "bad-key",
			tamper: func(e *end) {
				e.req.event = func(ev *engine.Event) bool {
					if ev.Kind == engine.CQE && ev.Status == engine.StatusRemoteAccess {
						ev.Status = engine.StatusRemoteInvalid
					}
					return true
				}
			}},
		{name: "cqe-flushes-all", breaks: "flushes the request that failed as well", catches: "WRK-CQE-003",
			scenarios: "bad-key",
			tamper: func(e *end) {
				e.req.event = func(ev *engine.Event) bool {
					if ev.Kind == engine.CQE && ev.Status != engine.StatusSuccess {
						ev.Status = engine.StatusFlushed
					}
					return true
				}
			}},
		{name: "nak-for-nothing", breaks: "refuses the third request of a QP whatever it asks for",
			catches: "WRK-NAK-001", scenarios: "two-keys",
			tamper: func(e *end) {
				acks := 0
				e.resp.out = func(p *roce.Packet) bool {
					if isACK(p) {
						if acks++; acks == 3 {
							p.AETH.Syndrome = roce.SyndromeRemoteAccess
						}
					}
					return true
				}
			}},
		{name: "receives-swapped", breaks: "completes receives in pairs, the later one first", catches: "WRK-RCV-001",
			scenarios: "work",
			tamper: func(e *end) {
				var held []engine.Event
				e.resp.event = func(ev *engine.Event) bool {
					if ev.Kind != engine.ReceiveCQE || ev.ID&1 == 0 {
						held = append(held, *ev)
						return false
					}
					e.resp.events, held = append(e.resp.events, held...), nil
					return true
				}
			}},
		{name: "counts-too-many", breaks: "counts a wrong ICRC on frames with a correct one", catches: "WRK-COUNT-001",
			scenarios: "corrupted",
			impl: func(impl *engine.Implementation) {
				n := 0
				receiving(func(b []byte) []byte {
					if n++; n%20 == 0 {
						b[len(b)-1] ^= 1
					}
					return b
				})(impl)
			}},
	}
}
