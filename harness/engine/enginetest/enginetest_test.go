package enginetest

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// toy is a good implementation with one fault.
type toy struct {
	name  string
	check string // the check that must fail
	want  string // a part of its error
	build func() broken
}

// broken wraps the parts of an implementation; a nil field leaves its part alone.
type broken struct {
	req  func(engine.Requester) engine.Requester
	resp func(engine.Responder, engine.Memory) engine.Responder
	mem  func(engine.Memory) engine.Memory
}

func (b broken) implementation() engine.Implementation {
	impl := gbn.Implementation()
	good := impl.New
	impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		host := mem
		if b.mem != nil {
			mem = b.mem(mem)
		}
		req, resp, err := good(qp, mem)
		if err == nil && b.req != nil {
			req = b.req(req)
		}
		if err == nil && b.resp != nil {
			resp = b.resp(resp, host)
		}
		return req, resp, err
	}
	return impl
}

// requester is a Requester whose methods can be replaced one by one.
type requester struct {
	engine.Requester
	packet   func(now vtime.Time, p *roce.Packet)
	timer    func(now vtime.Time)
	transmit func(now vtime.Time, p *roce.Packet) bool
	event    func() (engine.Event, bool)
}

func (r *requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	if r.packet == nil {
		r.Requester.HandlePacket(now, p)
		return
	}
	r.packet(now, p)
}

func (r *requester) HandleTimer(now vtime.Time) {
	if r.timer == nil {
		r.Requester.HandleTimer(now)
		return
	}
	r.timer(now)
}

func (r *requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.transmit == nil {
		return r.Requester.PollTransmit(now, p)
	}
	return r.transmit(now, p)
}

func (r *requester) PollEvent() (engine.Event, bool) {
	if r.event == nil {
		return r.Requester.PollEvent()
	}
	return r.event()
}

// onRequester returns a broken that changes the requester.
func onRequester(f func(r *requester)) func() broken {
	return func() broken {
		return broken{req: func(good engine.Requester) engine.Requester {
			r := &requester{Requester: good}
			f(r)
			return r
		}}
	}
}

// responder is a Responder with a function that is called before each packet.
type responder struct {
	engine.Responder
	before func(p *roce.Packet)
}

func (r *responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	r.before(p)
	r.Responder.HandlePacket(now, p)
}

// host is a Memory with another Store.
type host struct {
	engine.Memory
	store func(va uint64, data []byte, n int) bool
}

func (h *host) Store(va uint64, data []byte, n int) bool { return h.store(va, data, n) }

// onStore returns a broken that changes stores.
func onStore(f func(good engine.Memory, va uint64, data []byte, n int) bool) func() broken {
	return func() broken {
		return broken{mem: func(good engine.Memory) engine.Memory {
			return &host{good, func(va uint64, data []byte, n int) bool { return f(good, va, data, n) }}
		}}
	}
}

var sink []byte

// toys returns a fault for every check.
func toys() []toy {
	return []toy{
		{"loses the last byte of a message", "clean", "memory of slot", onStore(
			func(good engine.Memory, va uint64, data []byte, n int) bool {
				return n < 1024 && n > 8 && good.Store(va, data[:n-1], n-1) || good.Store(va, data, n)
			})},
		{"has no timer", "progress", "completions are missing", onRequester(func(r *requester) {
			r.Requester = deaf{r.Requester}
		})},
		{"sends by a coin that is not seeded", "determinism", "line", func() broken {
			coin := 0
			return broken{req: func(good engine.Requester) engine.Requester {
				coin++
				odd := coin%4 == 0 || coin%4 == 1
				return &requester{Requester: good, transmit: func(now vtime.Time, p *roce.Packet) bool {
					sent := good.PollTransmit(now, p)
					p.SE = p.SE && odd
					return sent
				}}
			}}
		}},
		{"compares PSNs as integers", "wrap", "", onRequester(func(r *requester) {
			newest := psn.PSN(0)
			r.packet = func(now vtime.Time, p *roce.Packet) {
				if p.PSN+1000 < newest {
					return
				}
				newest = p.PSN
				r.Requester.HandlePacket(now, p)
			}
		})},
		{"prints absolute numbers", "wrap", "line", onRequester(func(r *requester) {
			r.transmit = func(now vtime.Time, p *roce.Packet) bool {
				sent := r.Requester.PollTransmit(now, p)
				p.SE = sent && p.PSN%2 == 0
				return sent
			}
		})},
		{"places scratch bytes first", "at_most_once", "not the message's", onStore(
			func(good engine.Memory, va uint64, data []byte, n int) bool {
				good.Store(va, make([]byte, n), n)
				return good.Store(va, data, n)
			})},
		{"forgets every fourth flush", "conservation", "out of order", onRequester(func(r *requester) {
			n := 0
			r.event = func() (engine.Event, bool) {
				ev, ok := r.Requester.PollEvent()
				if n++; ev.Status == engine.StatusFlushed && n%4 == 0 {
					return r.Requester.PollEvent()
				}
				return ev, ok
			}
		})},
		{"completes twice", "conservation", "repetition", onRequester(func(r *requester) {
			var again *engine.Event
			r.event = func() (engine.Event, bool) {
				if ev := again; ev != nil {
					again = nil
					return *ev, true
				}
				ev, ok := r.Requester.PollEvent()
				if ok && ev.Status == engine.StatusFlushed {
					again = &ev
				}
				return ev, ok
			}
		})},
		{"sends everything forty times", "bounded", "packets with loss", onRequester(func(r *requester) {
			var last roce.Packet
			left := 0
			r.transmit = func(now vtime.Time, p *roce.Packet) bool {
				if left > 0 {
					left, *p = left-1, last
					return true
				}
				sent := r.Requester.PollTransmit(now, p)
				if sent {
					left, last = 40, *p
				}
				return sent
			}
		})},
		{"never comes to rest", "bounded", "come to rest", onRequester(func(r *requester) {
			r.transmit = func(now vtime.Time, p *roce.Packet) bool {
				r.Requester.PollTransmit(now, p)
				return true
			}
		})},
		{"leaves a due timer", "progress", "leaves a deadline", onRequester(func(r *requester) {
			r.timer = func(vtime.Time) {}
		})},
		{"fires early timers", "timers_and_polls", "early HandleTimer", onRequester(func(r *requester) {
			r.timer = func(vtime.Time) {
				if at, ok := r.Requester.PollTimer(); ok {
					r.Requester.HandleTimer(at)
				}
			}
		})},
		{"changes its mind about a refusal", "timers_and_polls", "refused and then sent",
			onRequester(func(r *requester) {
				asked := 0
				r.transmit = func(now vtime.Time, p *roce.Packet) bool {
					_, waiting := r.Requester.PollTimer()
					asked++
					return (asked%3 != 0 || !waiting) && r.Requester.PollTransmit(now, p)
				}
			})},
		{"panics on what it does not know", "garbage", "panic", onRequester(func(r *requester) {
			r.packet = func(now vtime.Time, p *roce.Packet) {
				if p.Len > 4096 {
					panic("length")
				}
				r.Requester.HandlePacket(now, p)
			}
		})},
		{"scribbles", "garbage", "outside every open region", func() broken {
			return broken{resp: func(good engine.Responder, mem engine.Memory) engine.Responder {
				return &responder{good, func(*roce.Packet) { mem.Store(windowBase+6*8, nil, 8) }}
			}}
		}},
		{"allocates per packet", "allocations", "allocations each", onRequester(func(r *requester) {
			r.transmit = func(now vtime.Time, p *roce.Packet) bool {
				sink = make([]byte, 64)
				return r.Requester.PollTransmit(now, p)
			}
		})},
		{"allocates to show its state", "allocations", "allocations each",
			showing(func(list []engine.Var) []engine.Var {
				return append(list, []engine.Var{{Name: strings.Repeat("x", len(list)+2)}}...)
			})},
		{"shows nothing, and drops the list", "timers_and_polls", "entries that are in the list",
			showing(func([]engine.Var) []engine.Var {
				return nil
			})},
		{"renames what is in the list", "timers_and_polls", "entries that are in the list",
			showing(func(list []engine.Var) []engine.Var {
				list = append(list, engine.Var{Name: "x"})
				for i := range list {
					list[i].Name = "my_" + list[i].Name
				}
				return list
			})},
		{"sends after a flush", "conservation", "flushed requester sends", onRequester(func(r *requester) {
			failed := false
			r.event = func() (engine.Event, bool) {
				ev, ok := r.Requester.PollEvent()
				failed = failed || ev.Status == engine.StatusFlushed
				return ev, ok
			}
			r.transmit = func(now vtime.Time, p *roce.Packet) bool {
				return r.Requester.PollTransmit(now, p) || failed
			}
		})},
	}
}

// deaf is a requester without a timer.
type deaf struct{ engine.Requester }

func (deaf) PollTimer() (vtime.Time, bool) { return 0, false }

// candid is a requester with other variables.
type candid struct {
	engine.Requester
	vars func(list []engine.Var) []engine.Var
}

func (c candid) Vars(list []engine.Var) []engine.Var { return c.vars(list) }

// showing returns a broken that changes the variables that the requester shows.
func showing(vars func(list []engine.Var) []engine.Var) func() broken {
	return func() broken {
		return broken{req: func(good engine.Requester) engine.Requester { return candid{good, vars} }}
	}
}

func TestEveryCheckFails(t *testing.T) {
	seen := map[string]bool{}
	run := map[string]func(engine.Implementation, Options) error{}
	for _, c := range checks() {
		run[c.name] = c.run
	}
	for _, b := range toys() {
		t.Run(b.name, func(t *testing.T) {
			err := run[b.check](b.build().implementation(), Options{})
			if err == nil || !strings.Contains(err.Error(), b.want) {
				t.Errorf("check %s says %v, want an error with %q", b.check, err, b.want)
			}
		})
		seen[b.check] = true
	}
	for name := range run {
		if !seen[name] {
			t.Errorf("no toy shows that check %s can fail", name)
		}
	}
}

func TestGoodEnginePasses(t *testing.T) { Run(t, broken{}.implementation(), Options{}) }
