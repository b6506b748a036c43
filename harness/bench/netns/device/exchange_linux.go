package device

import (
	"errors"
	"net"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// meet starts the tool and goes through its exchange.
func (r *running) meet(mine dut.Identity) error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	r.meeting, err = r.tool.Meet(conn, mine)
	return r.met(err)
}

// dial starts the tool and returns the connection for its exchange, over the loopback device of the tool's host; either
// of the two may open it.
func (r *running) dial() (net.Conn, error) {
	connect := r.connect
	if r.tool.Active {
		port, accept, stop, err := r.place.Listen()
		if err != nil {
			return nil, err
		}
		defer stop()
		r.at.Port, connect = port, accept
	} else {
		port, err := r.place.FreePort()
		if err != nil {
			return nil, err
		}
		r.at.Port = port
	}
	if err := r.start(r.at); err != nil {
		return nil, err
	}
	conn, err := connect(time.Now().Add(child.Patience))
	if err != nil {
		return nil, r.fail(err)
	}
	return conn, nil
}

// connect connects to a tool that listens. If the tool ends first, its output has the reason.
func (r *running) connect(until time.Time) (net.Conn, error) {
	for {
		conn, err := r.place.Dial(r.at.Port)
		if err == nil || time.Now().After(until) || r.place.Err() != nil {
			return conn, err
		}
		select {
		case <-r.exited:
			return nil, errors.New("dut: " + r.tool.Program + " ended before it listened")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
