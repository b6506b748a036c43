package registry

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A single device is on the first host, at either end. Two devices are on different hosts, each with its kind of
// device.
func TestPlaces(t *testing.T) {
	at := func(name, device string) hosted {
		return hosted{&remote.Host{At: testbed.Host{Name: name}}, device}
	}
	r := &Remote{hosts: []hosted{at("dut1", dut.Name), at("dut2", dut.RNIC)}}
	one := &Remote{hosts: r.hosts[:1]}
	for _, c := range []struct {
		bench *Remote
		impl  [2]string
		want  string // hosts at A and B, or a part of the error
	}{
		{one, [2]string{"rxe", "gbn"}, "dut1 -"}, {r, [2]string{"gbn", "rxe"}, "- dut1"}, {r, [2]string{"rxe", "rnic"},
			"dut1 dut2"}, {r, [2]string{"gbn", "gbn"}, "- -"},
		{one, [2]string{"rxe", "rxe"}, "name two hosts of the testbed"}, {r, [2]string{"rnic", "rxe"},
			"--impl rnic,rxe: the device of host dut1 is called rxe"},
	} {
		places, err := c.bench.Places(c.impl)
		var got []string
		for _, side := range []trace.Side{trace.A, trace.B} {
			name := "-"
			if h, ok := places[side].(*remote.Host); ok {
				name = h.At.Name
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); err == nil && text != c.want || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %s, %v; want %s", c.impl, text, err, c.want)
		}
	}
}
