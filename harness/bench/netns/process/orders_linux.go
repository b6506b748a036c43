package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// say writes one line.
func (p *process) say(r contract.Report) error { return p.out.Encode(r) }

// introduced reads all orders up to prepare and returns setup. An engine takes its QPs and its work from the text of
// the Spec, which has the same content as the other orders.
func (p *process) introduced() (*contract.Order, error) {
	var s *contract.Order
	for {
		o, err := p.read()
		if err != nil {
			return nil, err
		}
		switch {
		case o.Op == contract.OpSetup && o.Contract != contract.Version:
			return nil, fmt.Errorf("%s: contract version %d; this program speaks %d", p.role,
				o.Contract, contract.Version)
		case o.Op == contract.OpSetup:
			s = &o
		case o.Op == contract.OpParam && !p.knows(o.Name):
			return nil, fmt.Errorf("%s: parameter %.40q: %s has none of that name: %w", p.role, o.Name, p.impl.Name,
				contract.ErrUnsupported)
		case o.Op == contract.OpPrepare && s == nil:
			return nil, fmt.Errorf("%s: prepare before setup", p.role)
		case o.Op == contract.OpPrepare:
			return s, nil
		case o.Op != contract.OpParam && o.Op != contract.OpQP && o.Op != contract.OpWork:
			return nil, fmt.Errorf("%s: order %.40q is not known: %w", p.role, o.Op, contract.ErrUnsupported)
		}
	}
}

// knows reports whether the implementation has a parameter.
func (p *process) knows(name string) bool {
	return slices.ContainsFunc(p.impl.Params, func(known engine.Param) bool { return known.Name == name })
}

// read takes one line of standard input.
func (p *process) read() (contract.Order, error) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return contract.Order{}, err
	}
	return contract.DecodeOrder(line)
}

// obey carries out the orders that wait on standard input.
func (p *process) obey() error {
	for {
		o, err := p.read()
		if err != nil {
			return err
		}
		switch o.Op {
		case contract.OpStop:
			err = p.stop()
		case contract.OpVerify:
			err = p.verify(o.Memory)
		default:
			err = fmt.Errorf("%s: order %q; want stop or verify", p.role, o.Op)
		}
		if err != nil || p.in.Buffered() == 0 {
			return err
		}
	}
}

// farewell is the set of reports at the end of a run: the stopped line, and the contents of the lines before it.
type farewell struct {
	contract.Report
	counters map[string]int64
	shared   []engine.Var
	work     [][]drive.Work // posted requests, by connection
}

// stop ends the traffic and reports on it.
func (p *process) stop() error {
	p.stopped = true
	if p.tcp != nil {
		_ = packetio.Ordinary() // the rest of the work must not delay the taps
		if err := p.tcp.silence(); err != nil {
			return err
		}
	}
	a := farewell{Report: contract.Report{Event: contract.SaysStopped,
		Late: int64(p.clock.Dilation.Machine(p.late) / vtime.Nanosecond), MaxMemory: peakMemory(),
		Processor: int64(processorTime() - p.used)}}
	for i := range p.devices {
		counts, err := p.devices[i].Counts()
		if err != nil {
			return err
		}
		a.Dropped += counts.Dropped
		a.Starved += int64(p.clock.Dilation.Machine(p.devices[i].pace.starved) / vtime.Nanosecond)
	}
	p.actor.stopped(&a)
	for _, name := range slices.Sorted(maps.Keys(a.counters)) {
		if err := p.say(
			contract.Report{Event: contract.SaysCounter, Variable: name, Value: a.counters[name]}); err != nil {
			return err
		}
	}
	for _, v := range a.shared {
		if err := p.say(contract.Report{Event: contract.SaysState, Variable: v.Name, Value: v.Value}); err != nil {
			return err
		}
	}
	var err error
	a.Memory, err = json.Marshal(a.work)
	return errors.Join(err, p.events.flush(), p.say(a.Report))
}

// verify compares the memory with the requests of the peer, from its stopped report, and ends the report. Without such
// a report from the peer there is no comparison.
func (p *process) verify(memory json.RawMessage) error {
	var work [][]drive.Work
	if len(memory) > 0 {
		if err := json.Unmarshal(memory, &work); err != nil {
			return fmt.Errorf("%s: verify: %w", p.role, err)
		}
	}
	for i := range min(len(work), p.spec.QPs) {
		p.actor.verify(p.clock.Now(), i, work[i])
	}
	return errors.Join(p.events.end(p.clock.Now()), p.say(contract.Report{Event: contract.SaysVerified}))
}
