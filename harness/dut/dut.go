// Package dut makes this program the peer of a stock RDMA tool, so that the device below the tool can be tested from
// outside: only the stock tool runs on the device.
//
// A Tool gets its work from the command line. Then the tool and the harness exchange parameters, over TCP by the tool's
// own protocol, or by RDMA CM: each sends the other its queue pair, first PSN, key and buffer. A Meeting is an exchange
// that has been completed as far as possible before packets flow.
//
// Fit chooses the tool that does the work of a Spec, and returns ErrUnfit when none does.
package dut

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Identity holds the parameters that one end sends to the other.
type Identity struct {
	Addr   netip.Addr
	QPN    uint32
	PSN    psn.PSN // PSN of this end's first request
	Key    uint32  // R_Key of the buffer that the other end may access
	Buffer uint64  // address of that buffer

	// Reads is the number of READs that the end may have outstanding in each direction; 0 where the exchange does not
	// carry it.
	Reads   int
	Expects psn.PSN // PSN of the other end's first request, where the exchange lets this end choose it
}

// gid returns the address as a GID: the GID of a RoCEv2 end with an IPv4 address is the mapped address (IBTA annex
// A17).
func (i *Identity) gid() [16]byte { return i.Addr.As16() }

// Setting describes where and how a tool runs.
type Setting struct {
	Device string // name of the RDMA device, "rxe0"
	GID    int    // index of the GID that has the device's address
	Port   int    // port of TCP, or of RDMA CM, for the exchange

	Own, Peer netip.Addr // addresses of the device and of its peer
}

// Aside names the QPs that serve only the exchange of parameters; zero is none.
type Aside struct {
	Own, Device uint32
}

// Meeting is a completed exchange of parameters, before the first packet.
type Meeting struct {
	Peer Identity
	// Wants is the PSN of this end's first request: the one sent to the tool, unless the tool chose another.
	Wants   psn.PSN
	Timeout engine.LocalACKTimeout // the tool's transport timer
	Aside   Aside
	begin   func() error // lets a tool send that waits for it; nil for a tool that does not wait
	// ended waits for the tool's message that its work is done, and returns false when the tool has closed the exchange
	// instead; nil when only the end of the tool's process shows the end of its work.
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

// Ended waits for the tool's message that its work is done, and returns false when the tool has closed the exchange
// instead.
func (m *Meeting) Ended() (done bool) { return m.ended != nil && m.ended() }

// Close ends the exchange, and with it most tools.
func (m *Meeting) Close() error { return m.leave() }

// patience is the time limit for a tool's part of an exchange; perftest sleeps for a second in it.
const patience = 20 * time.Second

// Meet exchanges parameters with the tool at the other end of conn, and takes ownership of conn.
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

// Call exchanges parameters with a tool by RDMA CM. The tool either listens on the port, or will connect to it, for
// which cm must be listening.
func (t *Tool) Call(cm *CM, port uint16, mine Identity) (*Meeting, error) {
	m, err := t.kind.(caller).call(t, cm, port, mine)
	if err != nil {
		_ = cm.Close() // the first error says more
		return nil, fmt.Errorf("dut: %s: %w", t.Program, err)
	}
	return m, nil
}
