package contract

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// told returns one order of each kind that has a time.
func told() []Order {
	return []Order{
		{Op: OpSetup, Rate: 10_000_000_000, RTT: 40_000_000, Deadline: 60_000},
		{Op: OpParam, Name: "ack_delay", Value: "4us"}, {Op: OpParam, Name: "window", Value: "64"},
		{Op: OpParam, Name: "off", Value: "0"},
		{Op: OpQP, QP: &QP{Timeout: 67_108_864, RNRTimer: 14}},
		{Op: OpWork, Work: &Work{Bytes: 4096, Count: 3, After: 1000}},
	}
}

// A program without the feature dilate gets rates and times of the machine; the given orders are not changed.
func TestDilateScales(t *testing.T) {
	orders, again := told(), told()
	qp, work := orders[4].QP, orders[5].Work
	if err := Dilate(orders, &Capabilities{}, 64); err != nil {
		t.Fatal(err)
	}
	want := []Order{
		{Op: OpSetup, Rate: 156_250_000, RTT: 2_560_000_000, Deadline: 3_840_000},
		{Op: OpParam, Name: "ack_delay", Value: "256us"}, {Op: OpParam, Name: "window", Value: "64"},
		{Op: OpParam, Name: "off", Value: "0"},
		{Op: OpQP, QP: &QP{Timeout: 4_294_967_296, RNRTimer: 14}},
		{Op: OpWork, Work: &Work{Bytes: 4096, Count: 3, After: 64_000}},
	}
	if !reflect.DeepEqual(orders, want) {
		t.Errorf("%+v\nwant %+v", orders, want)
	}
	if *qp != *again[4].QP || *work != *again[5].Work {
		t.Error("the orders of another program changed")
	}
}

// A program with the feature dilate gets the factor and orders that are else the same; without a factor no program gets
// one.
func TestDilateTells(t *testing.T) {
	for k, want := range map[vtime.Dilation]vtime.Dilation{0: 0, 1: 0, 8: 8} {
		orders, same := told(), told()
		if err := Dilate(orders, &Capabilities{Features: "spec dilate"}, k); err != nil {
			t.Fatal(err)
		}
		if same[0].Dilate = want; !reflect.DeepEqual(orders, same) {
			t.Errorf("K %s: %+v\nwant %+v", k, orders, same)
		}
	}
}

func TestDilateRefuses(t *testing.T) {
	late := told()
	late[4].QP.Timeout = 8_796_093_022_208 / 4
	for _, c := range []struct {
		orders []Order
		caps   Capabilities
		want   string
	}{
		{told(), Capabilities{Features: "spec"}, "does not declare dilate"},
		{late, Capabilities{}, "beyond code 31"},
	} {
		if err := Dilate(c.orders, &c.caps, 8); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}
