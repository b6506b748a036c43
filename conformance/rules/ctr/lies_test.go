package ctr

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// device is an end that counts the packets of its engines, independent of taps and rules.
type device map[string]int64

// requester and responder count for a device.
type requester struct {
	engine.Requester
	device
}

type responder struct {
	engine.Responder
	device
	expected psn.PSN
}

// HandlePacket implements engine.Engine.
func (r *requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	r.device["hw/rcvd_pkts"]++
	switch s := p.AETH.Syndrome; {
	case p.Opcode != roce.Acknowledge:
	case s == roce.SyndromePSNSeqErr:
		r.device["hw/packet_seq_err"]++
	case s.IsRNR():
		r.device["hw/rcvd_rnr_err"]++
	}
	r.Requester.HandlePacket(now, p)
}

// PollTransmit implements engine.Engine.
func (r *requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	ok := r.Requester.PollTransmit(now, p)
	if ok {
		r.device["hw/sent_pkts"]++
	}
	return ok
}

// PollEvent implements engine.Engine.
func (r *requester) PollEvent() (engine.Event, bool) {
	ev, ok := r.Requester.PollEvent()
	if ok && ev.Kind == engine.CQE && ev.Status == engine.StatusRetryExceeded {
		r.device["hw/retry_exceeded_err"]++
	}
	return ev, ok
}

// HandlePacket implements engine.Engine.
func (r *responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	r.device["hw/rcvd_pkts"]++
	switch d := p.PSN.Sub(r.expected); {
	case d < 0:
		r.device["hw/duplicate_request"]++
	case d > 0:
		r.device["hw/out_of_sequence"]++
	default:
		r.expected = r.expected.Next()
	}
	r.Responder.HandlePacket(now, p)
}

// PollTransmit implements engine.Engine.
func (r *responder) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	ok := r.Responder.PollTransmit(now, p)
	if ok {
		r.device["hw/sent_pkts"]++
	}
	if ok && p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsRNR() {
		r.device["hw/send_rnr_err"]++
		r.expected = p.PSN
	}
	return ok
}

// counting is go-back-N on such devices, by QPN.
func counting(devices map[uint32]device) engine.Implementation {
	impl := gbn.Implementation()
	halves := impl.New
	impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		req, resp, err := halves(qp, mem)
		d := device{}
		devices[qp.QPN] = d
		return &requester{req, d}, &responder{resp, d, qp.RecvPSN}, err
	}
	return impl
}

// run plays a scenario, and returns its trace and the counts of each end.
func run(t *testing.T, text string) (h trace.Header, all *trace.Collector, counts [2]device) {
	t.Helper()
	devices := map[uint32]device{}
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all = &trace.Collector{}
	impl := counting(devices)
	w, err := sim.New(spec, [2]engine.Implementation{impl, impl}, sim.Options{Sink: all, Bytes: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	h = w.Header()
	h.Reports |= trace.ReportCounters
	for side := range counts {
		counts[side] = devices[h.Conns[0].Ends[side].QP.QPN]
	}
	return h, all, counts
}

// judge judges a trace with the counters that its ends report.
func judge(h trace.Header, all *trace.Collector, counts [2]device) map[string]rule.Verdict {
	j := rule.NewJudge(h, Rules(), rule.Options{Features: []string{"rc", "gbn"}})
	tell := func(at vtime.Time, after int64) (events []trace.Event) {
		for side, d := range counts {
			for _, name := range slices.Sorted(maps.Keys(d)) {
				events = append(events, trace.Event{At: at, Side: trace.Side(side), Conn: -1, Kind: trace.Counter,
					Name: name, Value: 1000 + after*d[name]})
			}
		}
		return events
	}
	told := trace.Collector{Records: all.Records, Ended: all.Ended}
	told.Events = slices.Concat(tell(0, 0), all.Events, tell(all.Ended, 1))
	told.Play(trace.NewTimeline(&h, j))
	of := map[string]rule.Verdict{}
	for _, v := range j.Verdicts() {
		of[v.Rule] = v
	}
	return of
}

// TestLies runs go-back-N on counting devices over impaired links: correct counts pass, and a counter that is off by
// one fails its rule only.
func TestLies(t *testing.T) {
	const load = "link rate=100M delay=2ms\nqp rto=60ms\n"
	for _, c := range []struct {
		text  string
		moves map[string]string // counters that move, by rule
	}{
		{load + "drop B type=ACK count=20\nload write msg=3000 count=20",
			map[string]string{"hw/sent_pkts": "CTR-PKT-001", "hw/rcvd_pkts": "CTR-PKT-001",
				"hw/duplicate_request": "CTR-DUP-001"}},
		{load + "drop A psn=+0 tx=1\ndrop A psn=+30 tx=1\nload write msg=3000 count=20",
			map[string]string{"hw/out_of_sequence": "CTR-OOS-001", "hw/packet_seq_err": "CTR-NAK-001"}},
		{load + "qp receives=0 min-rnr=17 rnr=7\npost-send wr=1 len=100\npost-receive wr=1 at=110ms len=128",
			map[string]string{"hw/send_rnr_err": "CTR-RNR-001", "hw/rcvd_rnr_err": "CTR-RNR-002"}},
		{load + "qp retry=2\ndrop B type=ACK count=*\npost-write wr=1 len=100",
			map[string]string{"hw/retry_exceeded_err": "CTR-REX-001"}},
	} {
		h, all, honest := run(t, c.text)
		for id, v := range judge(h, all, honest) {
			if v.Status == rule.Fail {
				t.Errorf("%q: an honest device fails %s: %s", c.text, id, v.Findings[0].Text)
			}
		}
		for name, id := range c.moves {
			side := 0
			if honest[0][name] == 0 || name == "hw/rcvd_pkts" {
				side = 1 // the last packet that A receives may be too late to be counted
			}
			if honest[side][name] == 0 {
				t.Errorf("%q: %s does not move", c.text, name)
				continue
			}
			for _, off := range []int64{-1, 1} {
				lie := honest
				lie[side] = maps.Clone(honest[side])
				lie[side][name] += off
				for of, v := range judge(h, all, lie) {
					if (v.Status == rule.Fail) != (of == id) {
						t.Errorf("%q, %s off by %+d: %s is %v %v", c.text, name, off, of, v.Status, v.Findings)
					}
				}
			}
		}
	}
}
