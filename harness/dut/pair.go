package dut

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// FitPair returns the tools, by side, that do a Spec's work when there is a device at both ends, and the Spec as it
// runs with them. The errors are those of Fit.
func FitPair(given *scenario.Spec) (tools [2]*Tool, s *scenario.Spec, err error) {
	work, err := workOf(given, trace.A)
	if err != nil {
		return tools, nil, err
	}
	if work.bothWays {
		return tools, nil, fmt.Errorf("dut: work of both sides between two tools: %w", ErrUnfit)
	}
	active, s, err := Fit(given, work.from)
	if err != nil {
		return tools, nil, err
	}
	if _, ok := active.kind.(perftest); !ok || active.ByCM() {
		return tools, nil, fmt.Errorf("dut: two of %s: %w", active.Program, ErrUnfit)
	}
	other := work.from.Other()
	passive := *active
	passive.Active = false // the rest is the same, because both tools of perftest need the same arguments
	if err := passive.suits(s, other, &work); err != nil {
		return tools, nil, err
	}
	if passive.readOnly(s.QP[other].Access) {
		return tools, nil, fmt.Errorf("dut: rights for another operation between two tools: %w", ErrUnfit)
	}
	passive.receive(s)
	adopt(s, other, &passive)
	if !Known(s.Impl[other]) {
		s.Impl[other] = Name
	}
	tools[work.from], tools[other] = active, &passive
	return tools, s, nil
}

// pair is the exchange between two tools.
type pair struct {
	active, passive Identity
	client, server  net.Conn
	begin           []byte // the message that the active tool waits for
}

// Introduce forwards the exchange between two tools, one connection each, and returns a Meeting with either. It takes
// ownership of the connections; closing the Meeting with the active one closes both.
func Introduce(t *Tool, client, server net.Conn) (active, passive *Meeting, err error) {
	p := &pair{client: client, server: server}
	deadline := time.Now().Add(patience)
	err = errors.Join(client.SetDeadline(deadline), server.SetDeadline(deadline))
	if err == nil {
		err = p.exchange(t)
	}
	if err != nil {
		_ = p.close() // the first error says more
		return nil, nil, fmt.Errorf("dut: %s: %w", t.Program, err)
	}
	active = &Meeting{Peer: p.active, Wants: p.passive.PSN, Timeout: t.Timeout, begin: p.start,
		ended: p.ended, leave: p.close}
	return active, &Meeting{Peer: p.passive, Wants: p.active.PSN, Timeout: t.Timeout, leave: func() error {
		return nil
	}}, nil
}

// exchange forwards the messages between the tools, except the last one of the passive tool, after which the active
// tool sends.
func (p *pair) exchange(active *Tool) error {
	k, ok := active.kind.(perftest)
	if !ok {
		return fmt.Errorf("two of them cannot be introduced to each other; take a tool of perftest")
	}
	for _, n := range []int{versionLen, numberLen, numberLen, mtuLen} {
		if _, _, err := p.swap(n); err != nil {
			return err
		}
	}
	mine, theirs, err := p.swap(keysLen)
	if err != nil {
		return err
	}
	if p.active, err = parsePerftestKeys(mine); err == nil {
		p.passive, err = parsePerftestKeys(theirs)
	}
	for range k.syncs - 1 {
		if err == nil {
			_, _, err = p.swap(keysLen)
		}
	}
	if err == nil {
		_, err = carry(p.server, p.client, keysLen)
	}
	if err == nil {
		p.begin, err = hear(p.server, keysLen)
	}
	return err
}

// swap forwards a message of n bytes in each direction, the active tool's first.
func (p *pair) swap(n int) (client, server []byte, err error) {
	if client, err = carry(p.server, p.client, n); err == nil {
		server, err = carry(p.client, p.server, n)
	}
	return client, server, err
}

func carry(to io.Writer, from io.Reader, n int) ([]byte, error) {
	line, err := hear(from, n)
	if err == nil {
		_, err = to.Write(line)
	}
	return line, err
}

func hear(from io.Reader, n int) ([]byte, error) {
	line := make([]byte, n)
	if _, err := io.ReadFull(from, line); err != nil {
		return nil, fmt.Errorf("it broke the exchange off: %w", err)
	}
	return line, nil
}

// start lets the active tool send, by forwarding the message that it waits for.
func (p *pair) start() error {
	_ = p.client.SetDeadline(time.Now().Add(patience)) // a closed connection shows in the next call
	_, err := p.client.Write(p.begin)
	return err
}

// ended waits for the active tool's message that its work is done, and returns false when the tool has closed the
// exchange instead.
func (p *pair) ended() bool {
	_ = p.client.SetDeadline(time.Time{})
	n, _ := p.client.Read(make([]byte, 1))
	return n > 0
}

// close ends the exchange, and with it the tools.
func (p *pair) close() error { return errors.Join(p.client.Close(), p.server.Close()) }
