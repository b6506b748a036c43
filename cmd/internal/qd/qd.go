// Package qd computes the queue depth that a path needs, the memory that it takes, and the throughput of shallower
// queues on a loss-free path (RDMA over Open APN). It runs nothing.
package qd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
)

// Plan is the result of the command qd.
type Plan struct {
	RTT        vtime.Duration `json:"rtt_ps"`
	Rate       unit.Rate      `json:"rate_bps"`
	MTU        int            `json:"mtu"`
	Message    uint32         `json:"message_bytes"`
	Frame      int            `json:"frame_bytes"`
	Floor      int            `json:"depth_floor"`
	Depth      int            `json:"depth"`
	Cap        int            `json:"device_cap"`
	Clamped    bool           `json:"clamped"` // the device's cap is below the depth of the path
	Ring       unit.Size      `json:"send_queue_bytes"`
	Receives   unit.Size      `json:"receive_bytes_for_send"`
	InFlight   unit.Size      `json:"in_flight_bytes"`
	Throughput []Row          `json:"throughput"`
}

// Row is the throughput of one depth.
type Row struct {
	Depth   int       `json:"depth"`
	Payload unit.Rate `json:"payload_bps"`
	What    string    `json:"what,omitempty"`
}

// maxMessage bounds a message: no RC message is longer (IBTA 9.4).
const maxMessage = 1 << 31

// Path describes the path. Values with a unit are text.
type Path struct {
	RTT     string // round-trip propagation delay, such as "1ms"
	Rate    string // line rate, layer 1, such as "100G"
	MTU     int    // bytes
	Message string // size, such as "1MiB"; "" for one MTU
	Cap     int    // deepest send queue of the device
}

// New computes the plan of a path.
func New(path Path) (*Plan, error) {
	rtt, err := vtime.ParseDuration(path.RTT)
	if err != nil {
		return nil, fmt.Errorf("--rtt: %w", err)
	}
	rate, err := unit.ParseRate(path.Rate)
	if err != nil {
		return nil, fmt.Errorf("--rate: %w", err)
	}
	switch path.MTU {
	case 256, 512, 1024, 2048, 4096:
	default:
		return nil, fmt.Errorf("--mtu %d: want 256, 512, 1024, 2048 or 4096", path.MTU)
	}
	msg := unit.Size(path.MTU)
	if path.Message != "" {
		if msg, err = unit.ParseSize(path.Message); err != nil {
			return nil, fmt.Errorf("--msg: %w", err)
		}
	}
	if msg < 1 || msg > maxMessage {
		return nil, fmt.Errorf("--msg %s: want 1 byte to 2 GiB", path.Message)
	}
	if path.Cap < 1 {
		return nil, fmt.Errorf("--cap %d: want 1 or more work requests", path.Cap)
	}
	p := &Plan{RTT: rtt, Rate: rate, MTU: path.MTU, Message: uint32(msg), Cap: path.Cap}
	return p, p.fill()
}

// fill applies the formula.
func (p *Plan) fill() error {
	p.Frame = openapn.Frame(p.Message, p.MTU)
	d, err := openapn.DepthOf(p.RTT, p.Rate, p.Frame)
	if err != nil {
		return err
	}
	p.Floor, p.Depth = d.Floor, d.Ceil
	p.Clamped = p.Depth > p.Cap
	p.Ring, p.Receives = openapn.Memory(p.Depth, p.Message)
	p.InFlight = unit.Size(p.Depth) * unit.Size(p.Message)
	p.rows()
	return nil
}

// perftestDepth is the default queue depth of perftest.
const perftestDepth = 128

// rows lists the throughput of powers of two below the depth, of perftest's default, of the device's cap and of the
// path.
func (p *Plan) rows() {
	names := map[int]string{perftestDepth: "perftest's default"}
	depths := []int{}
	for n := 1; n < p.Depth; n *= 2 {
		depths = append(depths, n)
	}
	if p.Clamped {
		names[p.Cap] = "the device's cap"
		depths = append(depths, p.Cap)
	}
	names[p.Depth] = "this path"
	depths = append(depths, p.Depth)
	slices.Sort(depths)
	for _, n := range slices.Compact(depths) {
		p.Throughput = append(p.Throughput, Row{n, openapn.Throughput(n, p.RTT, p.Rate, p.Message, p.MTU), names[n]})
	}
}

// Print writes the plan for people, with a bar for each depth.
func (p *Plan) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "queue depth\t%d\tRTT %s x %s / %d bytes a message; %d rounded down\n", p.Depth, p.RTT,
		quantity.Rate(float64(p.Rate)), p.Frame, p.Floor)
	if p.Clamped {
		fmt.Fprintf(w, "device cap\t%d\tthe device cannot go as deep: the line will not be full\n", p.Cap)
	}
	fmt.Fprintf(w, "send queue\t%s\tentries of 64 bytes\n", quantity.Bytes(int64(p.Ring)))
	fmt.Fprintf(w, "in flight\t%s\tpayload that the sender must keep until it is acknowledged\n",
		quantity.Bytes(int64(p.InFlight)))
	fmt.Fprintf(w, "receives\t%s\tbuffers that a receiver of SENDs must have posted; a WRITE needs none\n",
		quantity.Bytes(int64(p.Receives)))
	if err := w.Flush(); err != nil {
		return err
	}
	full := p.Throughput[len(p.Throughput)-1].Payload
	fmt.Fprintf(out, "\npayload throughput on a loss-free path, by depth\n")
	for _, r := range p.Throughput {
		const width = 40
		bar := strings.Repeat("█", int(float64(r.Payload)/float64(full)*width+0.5))
		line := fmt.Sprintf("%8d  %12s  %-*s  %s", r.Depth, quantity.Rate(float64(r.Payload)), width, bar, r.What)
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
