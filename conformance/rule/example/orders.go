package example

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// ordered matches the lines of a fixture with the orders of the endpoints:
//
//	# order A WRITE wr=1 count=3 len=64 va=0x1000 rkey=0x7 stride=64
//	# region B rkey=0x7 va=0x1000 len=4096 access=1
//	# rate A 1G
//	# until 100us
//
// A count of 0 is unlimited. "script=1" makes it a scripted request. The other keys are imm, ikey, swapadd, compare and
// unsignal.
var ordered = regexp.MustCompile(`(?m)^# (order|region|rate|until) ([AB] .+|\d\S*)$`)

// assigned holds the orders of connection 0, by side.
type assigned struct {
	series  [2][]rule.Series
	regions [2][]rule.Region
	orders  rule.Orders
}

// ordersOf returns the orders in a fixture; nil when there are none.
func ordersOf(text []byte) (*rule.Orders, error) {
	lines := ordered.FindAllSubmatch(text, -1)
	if len(lines) == 0 {
		return nil, nil
	}
	a := &assigned{}
	a.orders.Until = vtime.Never
	for _, l := range lines {
		if err := a.line(string(l[1]), strings.Fields(string(l[2]))); err != nil {
			return nil, fmt.Errorf("%s: %w", l[0], err)
		}
	}
	a.orders.Series = func(conn int, side trace.Side) []rule.Series {
		if conn != 0 {
			return nil
		}
		return a.series[side]
	}
	a.orders.Regions = func(_ int, side trace.Side) []rule.Region { return a.regions[side] }
	return &a.orders, nil
}

// line parses one line of orders.
func (a *assigned) line(verb string, words []string) error {
	if verb == "until" {
		d, err := vtime.ParseDuration(words[0])
		a.orders.Until = vtime.Time(d)
		return err
	}
	side, ok := trace.ParseSide(words[0])
	if !ok || len(words) < 2 {
		return fmt.Errorf("want a side, and what it is told")
	}
	if verb == "rate" {
		r, err := unit.ParseRate(words[1])
		a.orders.Rates[side] = r
		return err
	}
	values := map[string]uint64{}
	for _, w := range words[1:] {
		if key, text, pair := strings.Cut(w, "="); pair {
			n, err := strconv.ParseUint(text, 0, 64)
			if err != nil {
				return err
			}
			values[key] = n
		}
	}
	if verb == "region" {
		a.regions[side] = append(a.regions[side], rule.Region{RKey: uint32(values["rkey"]), VA: values["va"],
			Len:    values["len"],
			Access: engine.Access(values["access"])})
		return nil
	}
	return a.order(side, words[1], values)
}

// order adds one series.
func (a *assigned) order(side trace.Side, name string, v map[string]uint64) error {
	for op := engine.OpSend; op <= engine.OpFetchAdd; op++ {
		if op.String() != name {
			continue
		}
		s := rule.Series{First: v["wr"], Count: int(v["count"]), Scripted: v["script"] != 0}
		s.Request = func(k int) engine.WorkRequest {
			return engine.WorkRequest{ID: s.First + uint64(k), Op: op, Len: uint32(v["len"]),
				RemoteVA: v["va"] + uint64(k)*v["stride"],
				RKey:     uint32(v["rkey"]), Imm: uint32(v["imm"]), InvKey: uint32(v["ikey"]), SwapAdd: v["swapadd"],
				Compare: v["compare"], Unsignal: v["unsignal"] != 0}
		}
		a.series[side] = append(a.series[side], s)
		return nil
	}
	return fmt.Errorf("%q is no operation", name)
}
