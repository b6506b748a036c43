// Package bench is what a place to run a Spec has to offer. The benches themselves are the packages below.
package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// Evidence is what a bench knows of a run beside its trace.
type Evidence struct {
	Certificates []certify.Certificate // of the link, before and after
	Notes        []string              // choices that were made, and why
	Environment  [][2]string           // name and value: kernel, link kind, clock
	Shared       [][2]string           // variables of what the QPs of each side share, when the run ended
	Counters     [][2]string           // of endpoints and link, those that are not zero
	// real benches: what each endpoint used of the processors; 0 where it does not tell
	Processor  [2]time.Duration
	Dilation   vtime.Dilation // real benches: how many seconds of the machine one of the Spec lasted
	Stretches  bool           // the bench chose it, and could have chosen a greater one
	Incomplete string         // not empty: work was outstanding when the run ended, and this is why
}

// Share adds the variables of what the QPs of one side share.
func (e *Evidence) Share(side trace.Side, vars []engine.Var) {
	for _, v := range vars {
		e.Shared = append(e.Shared, [2]string{side.String() + " " + v.Name, strconv.FormatInt(v.Value, 10)})
	}
}

// Count adds counters in the order of their names, with who counted, as in "A dropped: ", before each.
func (e *Evidence) Count(who string, counts map[string]int64) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		e.Counters = append(e.Counters, [2]string{who + name, strconv.FormatInt(counts[name], 10)})
	}
}

// Divided notes how the connections of the trace are numbered when a box is in the path of so many QPs.
func (e *Evidence) Divided(qps int) {
	e.Notes = append(e.Notes, fmt.Sprintf("a box divides the path: connections from %d on are the hops behind it", qps))
}

// Bench is a place where a Spec can run. Run returns when everything it made is gone again, also when the context is
// cancelled; the evidence gathered until then comes with the error.
type Bench interface {
	Run(ctx context.Context, job *Job) (*Evidence, error)
}

// ErrUnsupported is in the error of a Checker when the bench has no such thing on any machine, and another one does.
var ErrUnsupported = errors.New("not on this bench")

// Checker is a Bench that can tell beforehand whether a Job is possible on this machine. The error says what to do
// instead; nothing has been made when it comes.
type Checker interface {
	Check(job *Job) error
}
