package netns

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// endpoint is an endpoint process under the bench's control.
type endpoint struct {
	*child
	side    trace.Side
	orders  *json.Encoder
	answers chan answer
	share   float64
	idle    bool
	end     answer // what it said when it stopped
}

// startEndpoint starts one side and waits until it is ready.
func (b *Bench) startEndpoint(t *Topology, n *Namespace, s setup) (*endpoint, error) {
	c, err := b.spawn(t, n, "endpoint")
	if err != nil {
		return nil, err
	}
	e := &endpoint{child: c, side: trace.Side(s.Side), orders: json.NewEncoder(c.stdin), answers: make(chan answer, 16)}
	e.name = "endpoint " + e.side.String()
	go e.listen()
	err = e.orders.Encode(s)
	if err == nil {
		_, err = e.await(saysReady)
	} else {
		err = e.death("did not start")
	}
	if err != nil {
		_ = e.close() // it follows from the first
		return nil, err
	}
	return e, nil
}

// listen reads answers until the process ends or says what cannot be read.
func (e *endpoint) listen() {
	defer close(e.answers)
	lines := bufio.NewReaderSize(e.stdout, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(line, &a) != nil {
			a = answer{Event: saysError, Error: fmt.Sprintf("unreadable answer %.60q", line)}
		}
		e.answers <- a
	}
}

// heard takes an answer that came while the run went on.
func (e *endpoint) heard(a answer, ok bool) error {
	if !ok {
		return e.death("ended in the middle of the run")
	}
	_, err := e.note(a)
	return err
}

// note takes an answer that may come at any time; asked is set for one that was asked for.
func (e *endpoint) note(a answer) (asked bool, err error) {
	switch a.Event {
	case saysShare:
		e.share = a.Share
	case saysIdle:
		e.idle, e.share = true, 1
	case saysError:
		return false, fmt.Errorf("netns: %s: %s", e.name, a.Error)
	default:
		return true, nil
	}
	return false, nil
}

// await returns the wanted answer, taking notes of others. A process that does not give it in time is killed.
func (e *endpoint) await(want string) (answer, error) {
	timer := time.AfterFunc(patience, func() { _ = e.cmd.Process.Kill() })
	defer timer.Stop()
	for a := range e.answers {
		asked, err := e.note(a)
		if err != nil || asked && a.Event == want {
			return a, err
		}
	}
	return answer{}, e.death(fmt.Sprintf("ended before it was %s", want))
}

// tell sends an order that is not answered.
func (e *endpoint) tell(o order) error {
	if err := e.orders.Encode(o); err != nil {
		return e.death("ended in the middle of the run")
	}
	return nil
}

// order sends an order and waits for its answer. A process that does not read the order in time is killed.
func (e *endpoint) order(o order, want string) (answer, error) {
	timer := time.AfterFunc(patience, func() { _ = e.cmd.Process.Kill() })
	defer timer.Stop()
	if err := e.tell(o); err != nil {
		return answer{}, err
	}
	return e.await(want)
}
