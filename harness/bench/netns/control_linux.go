package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// party is a program that takes part in the run and keeps the contract, ours or another's, under the bench's control: an
// endpoint or the box.
type party struct {
	*child
	side     trace.Side // of an endpoint
	orders   *json.Encoder
	answers  chan answer
	caps     *contract.Capabilities
	share    float64
	idle     bool
	lines    int             // that it has said
	ready    contract.Report // what it said when it could begin
	end      contract.Report // and when it stopped
	counters map[string]int64
	shared   []engine.Var
	qps      int
	started  int64         // what its reports count from, CLOCK_MONOTONIC
	told     []trace.Event // what it reported as lines
}

// answer is what a program says, or why it says nothing that can be used.
type answer struct {
	contract.Report
	err error
}

// parties returns the processes that take part: a device has none, and few paths have a box.
func (s *session) parties() (list []*party) {
	for _, e := range []*party{s.ends[trace.A], s.ends[trace.B], s.box} {
		if e != nil {
			list = append(list, e)
		}
	}
	return list
}

// said is where the answers of a program come from; that of no program never speaks.
func (e *party) said() <-chan answer {
	if e == nil {
		return nil
	}
	return e.answers
}

// command returns how what an implementation does in a role is started.
func (b *Bench) command(role string, impl *engine.Implementation) *exec.Cmd {
	if impl.Program == "" {
		return exec.Command(b.Self, "process", role, impl.Name)
	}
	return program(impl.Program)
}

// startParty starts a program, tells it what to do, and waits until it is ready.
func (s *session) startParty(n *Namespace, role string, side trace.Side, orders []contract.Order) (*party, error) {
	impl := &s.job.Impls[side]
	c, err := s.program(n, role, impl)
	if err != nil {
		return nil, err
	}
	e := &party{child: c, side: side, orders: json.NewEncoder(c.Stdin), answers: make(chan answer, 16), counters: map[string]int64{}}
	if role == "endpoint" {
		e.name += " " + e.side.String()
	}
	if impl.Foreign() {
		e.name += " (" + impl.Name + ")"
	}
	hurry(c.PID)
	go e.listen()
	if err = e.begin(orders); err != nil {
		_ = e.close() // it follows from the first
		return nil, err
	}
	return e, nil
}

// hurry gives a program, theirs or ours, a larger share of the processors than programs beside the run have; without the
// privilege it stays as it is, and the certificate tells whether that was enough. It is given to the process group, which is
// the program with all its threads: Linux gives a priority to a thread, and one that is in a hurry would wait, spinning, for
// Go's other threads, which have no turn because it spins.
func hurry(pid int) { _ = unix.Setpriority(unix.PRIO_PGRP, pid, -15) }

// begin hears what the program is, and makes it ready.
func (e *party) begin(orders []contract.Order) error {
	first, err := e.await(contract.SaysCapabilities)
	if err != nil {
		return err
	}
	e.caps, e.qps = first.Capabilities, orders[0].QPs
	if !e.caps.Has("spec") {
		orders[0].Spec = ""
	}
	for i := range orders {
		if err := e.tell(&orders[i]); err != nil {
			return err
		}
	}
	e.ready, err = e.order(&contract.Order{Op: contract.OpPrepare}, contract.SaysReady)
	return err
}

// listen reads answers until the program ends or says what is not of the contract.
func (e *party) listen() {
	defer close(e.answers)
	d := contract.NewDialog(e.Stdout)
	for {
		r, err := d.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		e.answers <- answer{r, err}
		if err != nil {
			return // close takes what still comes
		}
	}
}

// heard takes an answer that came while the run went on.
func (e *party) heard(a answer, ok bool) error {
	if !ok {
		return e.death("ended in the middle of the run")
	}
	_, err := e.note(&a)
	return err
}

// note takes an answer that may come at any time; asked is set for one that was asked for.
func (e *party) note(a *answer) (asked bool, err error) {
	if a.err != nil {
		return false, fmt.Errorf("netns: %s: %w", e.name, a.err)
	}
	e.lines++
	switch a.Event {
	case contract.SaysShare:
		e.share = a.Share
	case contract.SaysIdle:
		e.idle, e.share = true, 1
	case contract.SaysBusy:
		e.idle = false
	case contract.SaysPosted, contract.SaysReceive, contract.SaysCompleted, contract.SaysReceived:
		if err := e.plausible(&a.Report); err != nil {
			return false, err
		}
		e.told = append(e.told, e.event(&a.Report))
	case contract.SaysCounter:
		e.counters[a.Variable] = a.Value
	case contract.SaysState:
		e.shared = append(e.shared, engine.Var{Name: a.Variable, Value: a.Value})
	case contract.SaysError:
		return false, fmt.Errorf("netns: %s: %s", e.name, strings.ReplaceAll(a.Error, "\n", " "))
	default:
		return true, nil
	}
	return false, nil
}

// slack is how far the clocks of two readers may seem apart: they are the same, and one may wait for a processor.
const slack = int64(time.Millisecond)

// plausible checks a report against what only the bench knows.
func (e *party) plausible(r *contract.Report) error {
	switch now := packetio.Monotonic(); {
	case r.OnQP >= e.qps:
		return fmt.Errorf("netns: %s: %s: qp %d; it has 0 to %d", e.name, r.Event, r.OnQP, e.qps-1)
	case r.At < e.started:
		return fmt.Errorf("netns: %s: %s: at_ns %d is before the start (%d)", e.name, r.Event, r.At, e.started)
	case r.At > max(now, e.started)+slack:
		return fmt.Errorf("netns: %s: %s: at_ns %d has not come yet (%d); want CLOCK_MONOTONIC", e.name, r.Event, r.At, now)
	}
	return nil
}

// kinds are what lines are in a trace.
var kinds = map[string]trace.EventKind{contract.SaysPosted: trace.Post, contract.SaysReceive: trace.Receive,
	contract.SaysCompleted: trace.CQE, contract.SaysReceived: trace.Recv}

// event makes of a line what a trace holds.
func (e *party) event(r *contract.Report) trace.Event {
	op, _ := contract.Op(r.Operation) // both have been checked
	status, _ := contract.Status(r.Status)
	return trace.Event{
		At: vtime.Time(r.At-e.started) * vtime.Time(vtime.Nanosecond), Side: e.side, Conn: r.OnQP, Kind: kinds[r.Event],
		Body: engine.Event{Op: op, Status: status, ID: r.WR, Len: r.Bytes, Imm: r.Imm, PSN: psn.PSN(r.PSN)},
		VA:   r.VA, Len: r.Bytes, RKey: r.Key,
	}
}

// await returns the wanted answer, taking notes of others. A program that does not give it in time is killed.
func (e *party) await(want string) (contract.Report, error) {
	timer := time.AfterFunc(patience, func() { _ = e.kill() })
	defer timer.Stop()
	for a := range e.answers {
		asked, err := e.note(&a)
		if err != nil || asked && a.Event == want {
			return a.Report, err
		}
	}
	if !timer.Stop() {
		return contract.Report{}, fmt.Errorf("netns: %s did not say %s within %s and was killed", e.name, want, patience)
	}
	return contract.Report{}, e.death("ended before it said " + want)
}

// tell sends an order that is not answered.
func (e *party) tell(o *contract.Order) error {
	if err := e.orders.Encode(o); err != nil {
		return e.death("ended in the middle of the run")
	}
	return nil
}

// order sends an order and waits for its answer. A program that does not read the order in time is killed.
func (e *party) order(o *contract.Order, want string) (contract.Report, error) {
	timer := time.AfterFunc(patience, func() { _ = e.kill() })
	defer timer.Stop()
	if err := e.tell(o); err != nil {
		return contract.Report{}, err
	}
	return e.await(want)
}
