//go:build netns

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// iwarpRun returns the arguments of a run of iWARP over TCP that ends within a second.
func iwarpRun(more ...string) []string {
	return append([]string{"--impl", "rciwarp", "--rate", "50M", "--rtt", "20ms", "--msg", "64KiB", "--count", "20",
		"--seed", "3"}, more...)
}

// carriers returns the facts of the run about its TCPs.
func carriers(r *model.Result) (list []string) {
	for _, f := range r.Environment {
		if strings.HasSuffix(f.Name, " TCP") {
			list = append(list, f.Value)
		}
	}
	return list
}

// On netns iWARP runs over the kernel's TCP by default. A run that passes has compared memory.
func TestIWARPOverTCP(t *testing.T) {
	for _, c := range []struct {
		name, tcp string
		args      []string
	}{
		{"random loss", "kernel, cubic", []string{"--loss", "1e-2", "--param", "congestion=cubic"}},
		{"burst loss", "kernel, reno", []string{"--burst", "enter=2e-3,len=6,loss=0.8", "--param", "congestion=reno",
			"--param", "tcp=kernel"}},
		{"reads", "kernel, ", []string{"--loss", "5e-3", "--op", "read"}},
		{"four QPs", "kernel, ", []string{"--loss", "2e-3", "--qps", "4", "--count", "5"}},
		{"TCP-lite", "lite", []string{"--loss", "1e-2", "--param", "tcp=lite"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, dir := onNetns(t, iwarpRun(c.args...)...)
			wantPass(t, r)
			if got := carriers(r); len(got) != 2 || !strings.HasPrefix(got[0], c.tcp) || got[0] != got[1] {
				t.Errorf("carried by %q, want %q", got, c.tcp)
			}
			if r.Messages != 20 || r.GoodputBps < 1e6 {
				t.Errorf("%d messages, goodput %g", r.Messages, r.GoodputBps)
			}
			segmentsAligned(t, dir)
		})
	}
}

// segmentsAligned checks the trace of a run: no packet is longer than Ethernet's 1500 bytes, and each segment with
// data, also a retransmitted one, begins with an FPDU or start-up frame (RFC 5044, 5).
func segmentsAligned(t *testing.T, dir string) {
	t.Helper()
	_, play, err := recording.Open(filepath.Join(dir, "trace.ndjson"))
	must(t, err)
	var all trace.Collector
	must(t, play(&all))
	type place struct {
		conn, side int
		at         int64
	}
	begins := map[place]bool{}
	var segments []place
	conns := map[int]*stream.Conn{}
	for i := range all.Records {
		r := &all.Records[i]
		if conns[r.Conn] == nil {
			conns[r.Conn] = &stream.Conn{On: func(side int, u *stream.Unit) {
				begins[place{r.Conn, side, u.From}] = true
			}}
		}
		a, ok := conns[r.Conn].Add(int(r.From), r.Packet.Payload)
		if ok && a.To > a.From {
			segments = append(segments, place{r.Conn, int(r.From), a.From})
		}
		if n := len(r.Packet.Payload) + 20; n > 1500 || a.Header.Flags.Has(tcp.SYN) && a.Header.MSS != 1460 {
			t.Errorf("a packet of %d bytes, %+v", n, a.Header)
		}
	}
	inside := slices.DeleteFunc(slices.Clone(segments), func(s place) bool { return begins[s] })
	if len(inside) > 0 || len(segments) < 900 {
		t.Errorf("%d of %d segments begin inside an FPDU, the first of connection, side and byte %v", len(inside),
			len(segments), inside[:min(1, len(inside))])
	}
}
