package device

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// meet starts the tool and goes through its exchange.
func (r *running) meet(t *topology.Topology, mine dut.Identity) error {
	conn, err := r.dial(t)
	if err != nil {
		return err
	}
	r.meeting, err = r.tool.Meet(conn, mine)
	return r.met(err)
}

// dial starts the tool and returns the connection for its exchange, over the loopback of the namespace that both are in.
func (r *running) dial(t *topology.Topology) (net.Conn, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("netns: exchange with %s: %w", r.tool.Program, err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	if !r.tool.Active {
		_ = listener.Close() // the port is the tool's now
	}
	r.at.Port = port
	if err := r.start(t, r.at); err != nil {
		return nil, err
	}
	conn, err := r.connect(listener, port)
	if err != nil {
		return nil, r.fail(err)
	}
	return conn, nil
}

// connect returns the connection with the tool, whichever of the two makes it. A tool that ends before has said why.
func (r *running) connect(listener net.Listener, port int) (net.Conn, error) {
	deadline := time.Now().Add(child.Patience)
	if r.tool.Active {
		_ = listener.(*net.TCPListener).SetDeadline(deadline)
		return listener.Accept()
	}
	for {
		conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		select {
		case <-r.exited:
			return nil, errors.New("dut: " + r.tool.Program + " ended before it listened")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
