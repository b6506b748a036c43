package all

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// values are texts for a parameter: nothing, nonsense, and the limits of numbers, sizes, times, rates and names.
var values = []string{"", " ", "x", "0", "-1", "1", "2", "1.5", "NaN", "1e99", "4096", "65536", "2147483648",
	"9223372036854775807",
	"99999999999999999999", "0s", "-1ms", "1ps", "1s", "9223372s", "0B", "1B", "16GiB", "8388607TiB", "1bps", "1G",
	"9223372036G", "true", "off", "lite"}

// TestEveryParameterIsTakenOrRefused: any text for a parameter is refused with one line that names the parameter,
// before anything runs; or the implementation works with it, which with -short is tried for one of the values.
func TestEveryParameterIsTakenOrRefused(t *testing.T) {
	for _, impl := range Implementations() {
		for _, p := range impl.Params {
			t.Run(impl.Name+"/"+p.Name, func(t *testing.T) {
				accepted := 0
				for _, v := range values {
					if taken(t, impl, p.Name, v, accepted == 0 || !testing.Short()) {
						accepted++
					}
				}
				if accepted == len(values) && p.Name != "congestion" { // a name that only a kernel knows
					t.Errorf("%s takes anything", p.Name)
				}
			})
		}
	}
}

// taken reports whether a value is accepted, and may then run the implementation with it.
func taken(t *testing.T, impl engine.Implementation, name, value string, run bool) bool {
	t.Helper()
	text := fmt.Sprintf("impl %s\nlink rate=1G delay=50us\nloss random p=1%%\nqp mtu=1024 qd=8\n", impl.Name) +
		"load write msg=5000 count=8\nrun limit=10s\n"
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	spec.Params = engine.Params{name: value}
	ends := spec.Ends(0)
	switch err := impl.Try(ends[0], &memory.Host{}); {
	case err == nil:
	case strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), name):
		t.Errorf("%s=%q is refused, but not in a line that names it: %v", name, value, err)
		return false
	default:
		return false
	}
	if run {
		brokentest.Judged(t, spec, impl)
	}
	return true
}
