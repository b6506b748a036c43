package party

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Party is a program of the run that keeps the contract, of this project or foreign: an endpoint or the box. Its fields
// hold its reports.
type Party struct {
	*child.Child
	Side     trace.Side // of an endpoint
	Caps     *contract.Capabilities
	Share    float64         // fraction of its work that is done, 0 <= Share <= 1
	Idle     bool            // it has reported that it has no work left
	Lines    int             // lines that it has written
	Moved    int             // those of Lines that report progress; Moved <= Lines
	Heard    time.Time       // time of its last line
	Ready    contract.Report // its report that it is ready
	End      contract.Report // and when it stopped
	Late     vtime.Duration  // longest time that a frame or a timer waited for the program, in the time of the run
	Starved  vtime.Duration  // time for which its line was free with something to send, in the time of the run
	Counters map[string]int64
	Shared   []engine.Var // states that its QPs share

	orders  *json.Encoder
	answers chan Answer
	report  *os.File // file of its reports, if it writes one
	qps     int
	fault   func(error) error // marks an error as the fault of the program; nil for a program of the harness
	base    packetio.Timebase // base of the times in its reports
	begun   bool              // it was told to start
	posted  map[int]uint64    // receives that it reported as posted, by QP
	told    []trace.Event     // events that it reported as lines
	since   vtime.Time        // time at which it became idle, in time of the run
	work    int               // requests that the orders contain
	done    int               // requests of these reported as completed
}

// Answer is a report of a program, or the error that ended its reports.
type Answer struct {
	contract.Report
	err error
}

// Options describes a program and its part in the run.
type Options struct {
	Name   string            // in errors
	Side   trace.Side        // of an endpoint
	Fault  func(error) error // turns an error into a fault of the program; nil for a program of the harness
	Dilate vtime.Dilation    // length of a second of the run, in seconds of the machine
	Report *os.File          // file for its reports, if not in lines; the caller closes it
	Orders []contract.Order  // the first is setup; the others are those before prepare
}

// Start sends the orders to a program that has been started, and waits until it is ready. The party ends the program,
// also on an error.
func Start(c *child.Child, o Options) (*Party, error) {
	c.Name = o.Name
	e := &Party{Child: c, Side: o.Side, fault: o.Fault, work: requests(o.Orders), report: o.Report,
		base: packetio.Timebase{Dilation: o.Dilate}, orders: json.NewEncoder(c.Stdin),
		answers: make(chan Answer, 16), Counters: map[string]int64{}}
	packetio.Prefer(c.PID)
	go e.listen()
	if err := e.prepare(o.Orders); err != nil {
		_ = e.Close() // it follows from the first
		return nil, err
	}
	return e, nil
}

// Said returns the channel of a program's answers; for a nil Party it never delivers one.
func (e *Party) Said() <-chan Answer {
	if e == nil {
		return nil
	}
	return e.answers
}

// prepare reads the capabilities of the program, and sends the orders up to prepare.
func (e *Party) prepare(orders []contract.Order) error {
	first, err := e.await(contract.SaysCapabilities)
	if err != nil {
		return err
	}
	e.Caps, e.qps = first.Capabilities, orders[0].QPs
	if !e.Caps.Has("spec") {
		orders[0].Spec = ""
	}
	if err := contract.Dilate(orders, e.Caps, e.base.Dilation); err != nil {
		return fmt.Errorf("netns: %s: %w", e.Name, err)
	}
	for i := range orders {
		if err := e.Tell(&orders[i]); err != nil {
			return err
		}
	}
	e.Ready, err = e.Order(&contract.Order{Op: contract.OpPrepare}, contract.SaysReady)
	return err
}

// listen reads answers until the program ends or breaks the contract.
func (e *Party) listen() {
	defer close(e.answers)
	d := contract.NewDialog(e.Stdout)
	for {
		r, err := d.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		e.answers <- Answer{r, err}
		if err != nil {
			return // close reads the remaining answers
		}
	}
}

// Hear processes an answer that arrived during the run.
func (e *Party) Hear(a Answer, ok bool) error {
	if !ok {
		return e.blame(e.Death("ended in the middle of the run"))
	}
	_, err := e.note(&a)
	return e.blame(err)
}

// note processes an answer that may arrive at any time; asked is set for the answer to an order.
func (e *Party) note(a *Answer) (asked bool, err error) {
	if a.err != nil {
		return false, fmt.Errorf("netns: %s: %w", e.Name, a.err)
	}
	e.Lines++
	e.Heard = time.Now()
	switch a.Event {
	case contract.SaysShare:
		e.moves(a.Share != e.Share)
		e.Share = a.Share
	case contract.SaysIdle:
		e.moves(!e.Idle)
		e.Idle, e.Share = true, 1
		e.since = max(0, e.base.Time(packetio.Monotonic()))
	case contract.SaysBusy:
		e.moves(e.Idle)
		e.Idle = false
	case contract.SaysPosted, contract.SaysReceive, contract.SaysCompleted, contract.SaysReceived,
		contract.SaysDeclared, contract.SaysLost:
		if err := cmp.Or(e.plausible(&a.Report), e.restless(&a.Report), e.taken(&a.Report)); err != nil {
			return false, err
		}
		e.told = append(e.told, e.event(&a.Report))
		e.moves(true)
		if a.Event == contract.SaysCompleted {
			e.done++
		}
	case contract.SaysCounter:
		e.Counters[a.Variable] = a.Value
	case contract.SaysState:
		e.Shared = append(e.Shared, engine.Var{Name: a.Variable, Value: a.Value})
	case contract.SaysError:
		return false, fmt.Errorf("netns: %s: %s", e.Name, a.Error)
	default:
		return true, nil
	}
	return false, nil
}

// await returns the wanted answer, and records others. A program that does not give it in time is killed.
func (e *Party) await(want string) (contract.Report, error) {
	timer := time.AfterFunc(child.Patience, func() { _ = e.Kill() })
	defer timer.Stop()
	for a := range e.answers {
		asked, err := e.note(&a)
		if err != nil || asked && a.Event == want {
			return a.Report, e.blame(err)
		}
	}
	if !timer.Stop() {
		return contract.Report{}, e.blame(fmt.Errorf("netns: %s did not say %s within %s and was killed", e.Name,
			want, child.Patience))
	}
	return contract.Report{}, e.blame(e.Death("ended before it said " + want))
}

// Tell sends an order that is not answered.
func (e *Party) Tell(o *contract.Order) error {
	if err := e.orders.Encode(o); err != nil {
		return e.blame(e.Death("ended in the middle of the run"))
	}
	return nil
}

// Order sends an order and waits for its answer. A program that does not read the order in time is killed.
func (e *Party) Order(o *contract.Order, want string) (contract.Report, error) {
	timer := time.AfterFunc(child.Patience, func() { _ = e.Kill() })
	err := e.Tell(o)
	timer.Stop()
	if err != nil {
		return contract.Report{}, err
	}
	return e.await(want)
}

// Stop ends the traffic of the program, and reads its report on it.
func (e *Party) Stop() (err error) {
	e.End, err = e.Order(&contract.Order{Op: contract.OpStop}, contract.SaysStopped)
	e.Late = e.base.Dilation.Spec(vtime.Duration(e.End.Late) * vtime.Nanosecond)
	e.Starved = e.base.Dilation.Spec(vtime.Duration(e.End.Starved) * vtime.Nanosecond)
	return cmp.Or(err, e.blame(e.credible()))
}
