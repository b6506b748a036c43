package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

func iwarpFigures() []Figure {
	const conditions = "10 Gb/s, 10 us, Ethernet frames of 1500, segments of 65000 bytes, loss on the way of the " +
		"data; 16 MiB of messages, 2000 at most; the share delivered stands for the bandwidth, of which it is a " +
		"part; the model's teeth are messages whose last segment is short"
	const missing = "bandwidths of the paper, which are those of its hosts and only drawn: the text states no point"
	segments := models.Datagrams{Segment: 65000, Fragment: 1480}
	send, record := segments, segments
	send.Header, record.Header = 8+18+4, 8+14+16+4
	return []Figure{
		{ID: "DI-7", Source: grant + "Fig. 7", Title: "Send/receive over datagrams under loss",
			Conditions: conditions, Missing: missing,
			Says:   "the impact of loss is significant for large messages even at low loss rates",
			Panels: []Panel{delivery("send", send.SendReceive)}},
		{ID: "DI-8", Source: grant + "Fig. 8", Title: "Write-Record over datagrams under loss",
			Conditions: conditions, Missing: missing,
			Says: "a drop at 64 KB, where a message takes several datagrams, high bandwidth above, and a " +
				"breakdown at about 5 %",
			Panels: []Panel{delivery("write", func(p float64, size int) float64 {
				mean, _ := record.WriteRecord(p, size)
				return mean
			})}},
	}
}

// delivery plots the share delivered by message size, a curve for each loss.
func delivery(op string, model func(p float64, size int) float64) Panel {
	sizes := []float64{1 << 10, 8 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20}
	p := Panel{X: Axis{Name: "message", Unit: "B", Log: true}, Y: Axis{Name: "share delivered"}}
	for _, loss := range []float64{0.001, 0.005, 0.01, 0.05} {
		p.Curves = append(p.Curves, Curve{Name: fmt.Sprintf("%g %%", loss*100), Metric: delivered,
			Model: func(x float64) float64 { return model(loss, int(x)) },
			Ours: measured(sizes, func(x float64) []string {
				return []string{datagrams(op, int(x), min(2000, 16<<20/int(x)), loss)}
			})})
	}
	return p
}
