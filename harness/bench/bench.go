// Package bench defines the interface of a bench, on which a Spec runs. The benches are the packages below.
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

// Evidence is the evidence of a bench about a run, in addition to the trace.
type Evidence struct {
	Certificates []certify.Certificate // of the link, before and after
	Notes        []string              // choices that the bench made, and the reasons
	Environment  [][2]string           // name and value: kernel, link kind, clock
	Shared       [][2]string           // variables of the state that the QPs of each side share, at the end of the run
	Counters     [][2]string           // of endpoints and link, those that are not zero
	// Real benches: processor time of each endpoint; 0 when it does not report it.
	Processor  [2]time.Duration
	Dilation   vtime.Dilation // real benches: length of a second of the Spec, in seconds of the machine
	Stretches  bool           // the bench chose the Dilation, and could have chosen a greater one
	Incomplete string         // reason why work was outstanding when the run ended; "" when none was
}

// Share adds the variables of the state that the QPs of one side share.
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

// Divided adds a note on the numbering of the trace's connections when a middlebox is in the path of qps QPs.
func (e *Evidence) Divided(qps int) {
	e.Notes = append(e.Notes,
		fmt.Sprintf("a middlebox divides the path: connections from %d on are the hops behind it", qps))
}

// Bench is a place where a Spec can run. Run returns when it has removed everything it made, also when the context is
// cancelled; the evidence gathered until then is returned with the error.
type Bench interface {
	Run(ctx context.Context, job *Job) (*Evidence, error)
}

// ErrUnsupported is wrapped by the error of a Checker when the bench lacks a feature on every machine, and another
// bench has it.
var ErrUnsupported = errors.New("not on this bench")

// Checker is a Bench that can check beforehand whether a Job is possible on this machine. The error gives an
// alternative; a failed check leaves nothing behind.
type Checker interface {
	Check(job *Job) error
}
