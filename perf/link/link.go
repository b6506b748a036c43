// Package link measures the effects of a link on the packets of a trace, for any link: the kernel's netem, the relay or
// the simulator. It knows no Spec and judges nothing; its numbers are for comparisons between links.
package link

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// runLengths is the number of lengths of loss runs that are counted apart; the last includes all longer ones.
const runLengths = 4

// Path collects one direction of a link. It is a trace.Sink, and serves one trace.
type Path struct {
	From trace.Side

	sent, lost, overtook uint64
	run                  int // losses since the last packet that arrived
	runs                 [runLengths]uint64
	latest               vtime.Time // latest arrival of any packet
	delays               *hdrhistogram.Histogram
}

// longest is the upper limit of recorded delays; a longer one is recorded as longest.
const longest = 10 * vtime.Second

// NewPath returns a collector of the packets of one side.
func NewPath(from trace.Side) *Path {
	return &Path{From: from, delays: hdrhistogram.New(1, int64(longest/vtime.Nanosecond), 3)}
}

// Packet implements trace.Sink.
func (p *Path) Packet(r *trace.Record) {
	if r.From != p.From || r.Copy || r.Sent == vtime.Never {
		return // of the other direction, or made by the link
	}
	p.sent++
	if r.Recv == vtime.Never {
		p.lost++
		p.run++
		return
	}
	p.endRun()
	if r.Recv < p.latest {
		p.overtook++
	}
	p.latest = max(p.latest, r.Recv)
	// within its range
	_ = p.delays.RecordValue(min(int64(r.Recv.Sub(r.Sent)), int64(longest)) / int64(vtime.Nanosecond))
}

// endRun counts the losses that have ended.
func (p *Path) endRun() {
	if p.run > 0 {
		p.runs[min(p.run, runLengths)-1]++
	}
	p.run = 0
}

// Event implements trace.Sink.
func (p *Path) Event(*trace.Event) {}

// End implements trace.Sink.
func (p *Path) End(vtime.Time) { p.endRun() }

// Figures are the measurements of a Path.
type Figures struct {
	Sent     uint64              `json:"sent"`
	Lost     float64             `json:"lost"`      // share of Sent
	Runs     [runLengths]float64 `json:"loss_runs"` // shares of runs of 1, 2, 3, and 4 or more losses
	MeanRun  float64             `json:"mean_run"`  // losses in a run
	Overtook float64             `json:"overtook"`  // share of the arrived packets that overtook one sent earlier
	DelayNs  [5]int64            `json:"delay_ns"`  // one way: least, 5 %, median, 95 %, longest
}

// Figures returns them; those of nothing are zero.
func (p *Path) Figures() Figures {
	f := Figures{Sent: p.sent, Lost: share(p.lost, p.sent), Overtook: share(p.overtook, p.sent-p.lost)}
	var runs uint64
	for _, n := range p.runs {
		runs += n
	}
	for i, n := range p.runs {
		f.Runs[i] = share(n, runs)
	}
	f.MeanRun = share(p.lost, runs)
	if p.delays.TotalCount() > 0 {
		f.DelayNs = [5]int64{p.delays.Min(), p.delays.ValueAtQuantile(5), p.delays.ValueAtQuantile(50),
			p.delays.ValueAtQuantile(95), p.delays.Max()}
	}
	return f
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
