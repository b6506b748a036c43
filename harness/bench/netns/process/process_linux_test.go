package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// An endpoint process refuses an impossible order in a sentence, and ends with its input.
func TestEndpointRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"nonsense\n":                             "order ",
		`{"op":"setup","contract":9}` + "\n":     "contract version 9; this program speaks 1",
		`{"op":"param","name":"no_such"}` + "\n": `parameter "no_such": gbn has none of that name: not supported`,
		`{"op":"dance"}` + "\n":                  `order "dance" is not known: not supported`,
		`{"op":"prepare"}` + "\n":                "prepare before setup",
	} {
		r, w, err := os.Pipe()
		must(t, err)
		_, _ = w.WriteString(in)
		w.Close()
		var out bytes.Buffer
		err = EndpointMain(r, &out, "gbn", func(string) (engine.Implementation, bool) {
			return engine.Implementation{Name: "gbn", Recover: "gbn"}, true
		})
		r.Close()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(out.String(), `"event":"error"`)) {
			t.Errorf("%q: %v, says %s", in, err, out.String())
		}
	}
}

// TestEndpointOpposite: an endpoint process whose peer is a device needs no implementation of the device.
func TestEndpointOpposite(t *testing.T) {
	only := func(name string) (engine.Implementation, bool) {
		return gbn.Implementation(), name == gbn.Implementation().Name
	}
	for text, want := range map[string]bool{"device B qpn=0x12 key=1 buffer=0\n": true, "": false} {
		p := &process{role: "endpoint"}
		s := contract.Order{Spec: "impl gbn " + dut.Name + "\n" + text + "load write msg=1024 count=5\n",
			Device: topology.DeviceA, Report: filepath.Join(t.TempDir(), "events")}
		if err := p.build(&s, only, newEndpoint); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
