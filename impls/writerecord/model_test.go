package writerecord_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/writerecord"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// valid sums up the bytes that a target may read.
type valid struct{ bytes float64 }

func (v *valid) Packet(*trace.Record) {}
func (v *valid) End(vtime.Time)       {}
func (v *valid) Event(e *trace.Event) {
	if e.Kind == trace.Declared || e.Kind == trace.Recv && e.Body.Status == engine.StatusSuccess {
		v.bytes += float64(e.Len)
	}
}

// fraction returns the mean and the deviation of the valid share of a message whose frames are lost with probability p.
// The headers of a segment are those of UDP, of DDP and RDMAP, and the CRC.
func fraction(op engine.Op, size int, p float64) (mean, deviation float64) {
	d := models.Datagrams{Segment: 65000, Header: 8 + 18 + 4, Fragment: 1480}
	if op == engine.OpSend {
		all := d.SendReceive(p, size)
		return all, math.Sqrt(all * (1 - all))
	}
	d.Header = 8 + 14 + 16 + 4
	return d.WriteRecord(p, size)
}

// TestDeliveredFraction compares the delivered share with the model, over the losses and sizes of the paper's figures 7
// and 8. At 512 KiB and half a per cent a fifth of the SENDs arrives, and four fifths of the recorded bytes.
func TestDeliveredFraction(t *testing.T) {
	for _, size := range []int{64 << 10, 512 << 10, 1 << 20} {
		if testing.Short() && size > 64<<10 {
			continue
		}
		for _, p := range []float64{0.001, 0.005, 0.01, 0.05} {
			if testing.Short() && p < 0.05 {
				continue
			}
			for _, op := range []engine.Op{engine.OpSend, engine.OpWrite} {
				count := max(128, 32<<20/size)
				text := fmt.Sprintf("impl writerecord\nlink rate=10G delay=10us\nloss random p=%v\nseed %d\nload "+
					"%s msg=%d count=%d\n",
					p, 1, strings.ToLower(op.String()), size, count)
				spec, err := scenario.Parse(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				impl := writerecord.Implementation()
				var v valid
				w, err := sim.New(spec, [2]engine.Implementation{impl, impl}, sim.Options{Sink: &v})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Run(); err != nil {
					t.Fatal(err)
				}
				got := v.bytes / float64(size*count)
				mean, deviation := fraction(op, size, p)
				sigma := deviation / math.Sqrt(float64(count))
				t.Logf("%-5v %4d KiB, loss %4.1f%%: %.3f valid, model %.3f +- %.3f", op, size>>10,
					p*100, got, mean, sigma)
				if math.Abs(got-mean) > 3*sigma+1/float64(count) {
					t.Errorf("%v of %d bytes, loss %v: %.3f is valid, the model says %.3f with a deviation of %.3f", op,
						size, p, got, mean, sigma)
				}
			}
		}
	}
}

// TestModel compares the model with the numbers that follow from the paper's sizes, rounded to three places.
func TestModel(t *testing.T) {
	for _, tt := range []struct {
		op   engine.Op
		size int
		p    float64
		want float64
	}{
		{engine.OpWrite, 65000, 0.001, 0.957}, {engine.OpWrite, 65000, 0.01, 0.643},
		{engine.OpSend, 65000, 0.05, 0.105},
		{engine.OpSend, 8 * 65000, 0.005, 0.171}, {engine.OpWrite, 16 * 65000, 0.01, 0.427},
	} {
		if got, _ := fraction(tt.op, tt.size, tt.p); math.Abs(got-tt.want) > 0.0006 {
			t.Errorf("%v of %d bytes, loss %v: %.4f, want %.3f", tt.op, tt.size, tt.p, got, tt.want)
		}
	}
}
