// Package dut makes this program the peer of a stock RDMA tool, so that the device below the tool can be tested from
// outside: nothing runs on the device but the tool that everybody has.
//
// A Tool is told by the command line what to do. Then it and the harness are introduced, over TCP by the exchange that
// the tool has with its own kind, or by RDMA CM: each tells the other its queue pair, first PSN, key and buffer. A
// Meeting is an exchange that has come as far as it can before packets flow.
//
// Fit decides which tool does what a Spec asks for, and says so when none does.
package dut

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Identity is what one end tells the other.
type Identity struct {
	Addr   netip.Addr
	QPN    uint32
	PSN    psn.PSN // of its first request
	Key    uint32  // R_Key of the buffer that the other may reach
	Buffer uint64  // and its address

	Reads   int     // how many READs it would have outstanding, either way; 0 where it does not say
	Expects psn.PSN // of the other's first request, where the other lets itself be told
}

// gid returns the address as a GID: that of a RoCEv2 end with an IPv4 address is mapped (IBTA annex A17).
func (i *Identity) gid() [16]byte { return i.Addr.As16() }

// Setting is where and how a tool runs.
type Setting struct {
	Device string // name of the RDMA device, "rxe0"
	GID    int    // index of the GID that has the device's address
	Port   int    // of TCP, or of RDMA CM, for the exchange

	Own, Peer netip.Addr // of the device, and of what it is to meet
}

// Aside is the queue pairs that serve an introduction alone; zero is none.
type Aside struct {
	Own, Device uint32
}

// Meeting is an exchange that waits for packets to flow.
type Meeting struct {
	Peer    Identity
	Wants   psn.PSN                // of this end's first request; what the tool was told, unless it had its own mind
	Timeout engine.LocalACKTimeout // of the tool's transport timer
	Aside   Aside
	begin   func() error // lets a tool send that waits for it; nil when it waits for nothing
	// returns when the tool has done its work, or false when it has hung up; nil when only its process tells
	ended func() bool
	leave func() error
}

// Begin lets the tool send.
func (m *Meeting) Begin() error {
	if m.begin == nil {
		return nil
	}
	return m.begin()
}

// Ended returns when the tool says that it has done its work, and false when it has hung up instead.
func (m *Meeting) Ended() (done bool) { return m.ended != nil && m.ended() }

// Close ends the exchange, and with it most tools.
func (m *Meeting) Close() error { return m.leave() }

// patience is how long a tool may take for its part of an exchange; perftest sleeps for a second in it.
const patience = 20 * time.Second

// Meet introduces this end to the tool at the other end of conn, which it owns from then on.
func (t *Tool) Meet(conn net.Conn, mine Identity) (*Meeting, error) {
	err := conn.SetDeadline(time.Now().Add(patience))
	var m *Meeting
	if err == nil {
		m, err = t.kind.(guest).meet(t, conn, mine)
	}
	if err != nil {
		_ = conn.Close() // the first error says more
		return nil, fmt.Errorf("dut: %s: %w", t.Program, err)
	}
	m.Wants, m.Timeout, m.leave = mine.PSN, t.Timeout, conn.Close
	if begin := m.begin; begin != nil {
		m.begin = func() error {
			_ = conn.SetDeadline(time.Now().Add(patience))
			return begin()
		}
	}
	m.ended = func() bool {
		_ = conn.SetDeadline(time.Time{})
		n, _ := conn.Read(make([]byte, 1))
		return n > 0
	}
	return m, nil
}

// Call introduces this end to a tool by RDMA CM. The tool listens on the port, or will connect to it; cm has to listen
// by then.
func (t *Tool) Call(cm *CM, port uint16, mine Identity) (*Meeting, error) {
	m, err := t.kind.(caller).call(t, cm, port, mine)
	if err != nil {
		_ = cm.Close() // the first error says more
		return nil, fmt.Errorf("dut: %s: %w", t.Program, err)
	}
	return m, nil
}
