package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
)

// qdFlags are the flags of qd, as text where a unit has to be read.
type qdFlags struct {
	rtt, rate, msg string
	mtu, cap       int
	json           bool
}

func qdCommand() *cobra.Command {
	var f qdFlags
	c := &cobra.Command{
		Use:   "qd",
		Short: "Compute the queue depth that a path needs, its memory, and the throughput below it",
		Long: `Compute how many work requests must be outstanding to keep a path busy, QD = RTT x rate / frame (RDMA over Open APN),
the memory that takes, and the payload throughput of shallower queues on a loss-free path.

The frame is counted at layer 1: payload plus 82 bytes for each packet.`,
		Example: `  gauntlet qd --rtt 1ms --rate 100G --mtu 4096
  gauntlet qd --rtt 40ms --rate 10G --mtu 1024 --msg 1MiB --cap 4096 --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := f.plan()
			if err != nil {
				return usage(err)
			}
			if f.json {
				return encode(os.Stdout, p)
			}
			return p.print(os.Stdout)
		},
	}
	d := c.Flags()
	d.StringVar(&f.rtt, "rtt", "1ms", "round-trip propagation delay; 100 km of fibre and back are 1ms")
	d.StringVar(&f.rate, "rate", "100G", "line rate, layer 1")
	d.IntVar(&f.mtu, "mtu", 4096, "path MTU: 256, 512, 1024, 2048 or 4096")
	d.StringVar(&f.msg, "msg", "", "message size (default: one MTU)")
	d.IntVar(&f.cap, "cap", openapn.DeviceCap, "deepest send queue of the device")
	d.BoolVar(&f.json, "json", false, "print as JSON")
	complete(c, "mtu", choices["mtu"]...)
	return c
}

// qdPlan is what qd prints.
type qdPlan struct {
	RTT        vtime.Duration `json:"rtt_ps"`
	Rate       unit.Rate      `json:"rate_bps"`
	MTU        int            `json:"mtu"`
	Message    uint32         `json:"message_bytes"`
	Frame      int            `json:"frame_bytes"`
	Floor      int            `json:"depth_floor"`
	Depth      int            `json:"depth"`
	Cap        int            `json:"device_cap"`
	Clamped    bool           `json:"clamped"` // the device cannot be as deep as the path asks for
	Ring       unit.Size      `json:"send_queue_bytes"`
	Receives   unit.Size      `json:"receive_bytes_for_send"`
	InFlight   unit.Size      `json:"in_flight_bytes"`
	Throughput []qdRow        `json:"throughput"`
}

// qdRow is the throughput of one depth.
type qdRow struct {
	Depth   int       `json:"depth"`
	Payload unit.Rate `json:"payload_bps"`
	What    string    `json:"what,omitempty"`
}

// maxQDMessage bounds --msg: no RC message is longer (IBTA 9.4).
const maxQDMessage = 1 << 31

// plan computes what the flags ask for.
func (f *qdFlags) plan() (*qdPlan, error) {
	rtt, err := vtime.ParseDuration(f.rtt)
	if err != nil {
		return nil, fmt.Errorf("--rtt: %w", err)
	}
	rate, err := unit.ParseRate(f.rate)
	if err != nil {
		return nil, fmt.Errorf("--rate: %w", err)
	}
	switch f.mtu {
	case 256, 512, 1024, 2048, 4096:
	default:
		return nil, fmt.Errorf("--mtu %d: want 256, 512, 1024, 2048 or 4096", f.mtu)
	}
	msg := unit.Size(f.mtu)
	if f.msg != "" {
		if msg, err = unit.ParseSize(f.msg); err != nil {
			return nil, fmt.Errorf("--msg: %w", err)
		}
	}
	if msg < 1 || msg > maxQDMessage {
		return nil, fmt.Errorf("--msg %s: want 1 byte to 2 GiB", f.msg)
	}
	if f.cap < 1 {
		return nil, fmt.Errorf("--cap %d: want 1 or more work requests", f.cap)
	}
	p := &qdPlan{RTT: rtt, Rate: rate, MTU: f.mtu, Message: uint32(msg), Cap: f.cap}
	return p, p.fill()
}

// fill applies the formula.
func (p *qdPlan) fill() error {
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

// perftestDepth is the depth that perftest starts with.
const perftestDepth = 128

// rows lists the throughput of powers of two below the depth, and of the depths that have a name.
func (p *qdPlan) rows() {
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
		p.Throughput = append(p.Throughput, qdRow{n, openapn.Throughput(n, p.RTT, p.Rate, p.Message, p.MTU), names[n]})
	}
}

// print writes the plan for people, with a bar for each depth.
func (p *qdPlan) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "queue depth\t%d\tRTT %s x %s / %d bytes a message; %d rounded down\n", p.Depth, p.RTT, quantity.Rate(float64(p.Rate)), p.Frame, p.Floor)
	if p.Clamped {
		fmt.Fprintf(w, "device cap\t%d\tthe device cannot go as deep: the line will not be full\n", p.Cap)
	}
	fmt.Fprintf(w, "send queue\t%s\tentries of 64 bytes\n", quantity.Bytes(int64(p.Ring)))
	fmt.Fprintf(w, "in flight\t%s\tpayload that the sender must keep until it is acknowledged\n", quantity.Bytes(int64(p.InFlight)))
	fmt.Fprintf(w, "receives\t%s\tbuffers that a receiver of SENDs must have posted; a WRITE needs none\n", quantity.Bytes(int64(p.Receives)))
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
