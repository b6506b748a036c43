package registry

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Benches returns the names of all benches.
func Benches() []string { return []string{"sim", "netns", "container", "lab", "remote"} }

func unknownBench(name string) error {
	return fault.Usage(fmt.Errorf("--bench %q: want one of %s", name, strings.Join(Benches(), ", ")))
}

// Replaced is the error of a process that started itself again with the privilege of a bench. The second process did
// all the work; the first only has to exit with Code.
type Replaced struct{ Code int }

// Error implements error.
func (r *Replaced) Error() string {
	return fmt.Sprintf("started again with privilege; that process ended with exit code %d", r.Code)
}

// OnDemand is a bench that is made for its first run, because making it may start this process again.
type OnDemand struct {
	Name        string
	bench.Bench // nil until Open

	Make func() (bench.Bench, error) // makes the bench if a name is not enough; nil for Open
}

// Open makes the bench, unless it has been made.
func (b *OnDemand) Open() (err error) {
	switch {
	case b.Bench != nil:
	case b.Make != nil:
		b.Bench, err = b.Make()
	default:
		b.Bench, err = Open(b.Name, "")
	}
	return err
}

// Runs returns an error when a bench cannot start one of the implementations.
func Runs(bench string, names ...string) error {
	for _, name := range names {
		switch {
		case name == dut.RNIC && bench != "remote":
			return fmt.Errorf(
				"implementation %s: an RNIC is on a host of a testbed; add --bench remote --testbed FILE", name)
		case name == dut.Name && bench != "netns" && bench != "lab" && bench != "remote":
			return fmt.Errorf("implementation %s: soft-RoCE is in a kernel; add --bench lab", name)
		case strings.HasPrefix(name, scenario.Exec) && bench == "sim":
			return fmt.Errorf("implementation %s: a program needs real packets; add --bench netns", name)
		case scenario.Foreign(name) && bench == "remote":
			return fmt.Errorf("implementation %s: on the remote bench a device stands at one end and an engine of "+
				"this repository at the other; add --bench netns", name)
		case strings.HasPrefix(name, scenario.Image) && bench != "container":
			return fmt.Errorf("implementation %s: an image needs a container; add --bench container", name)
		}
	}
	return nil
}
