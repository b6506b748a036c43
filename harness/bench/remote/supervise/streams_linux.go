package supervise

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
)

// stream is a connection with a tool, or a listener that waits for one.
type stream interface{ io.Closer }

const loopback = "127.0.0.1"

// patience is the time within which a tool must connect.
const patience = 30 * time.Second

// listener opens a port for one connection of a tool.
func (s *supervisor) listener() (any, error) {
	l, err := net.Listen("tcp4", loopback+":0")
	if err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)) // the listener is open, so this cannot fail
	of, err := s.keep(l)
	if err != nil {
		return nil, err
	}
	go func() {
		conn, err := l.Accept()
		_ = l.Close()
		if err != nil {
			_ = s.out.Write(line.Reply{Event: line.EventClosed, Of: of})
			return
		}
		s.mu.Lock()
		over := s.closed
		s.streams[of] = conn
		s.mu.Unlock()
		if over {
			_ = conn.Close()
		}
		_ = s.out.Write(line.Reply{Event: line.EventAccepted, Of: of})
		s.carry(of, conn)
	}()
	return line.Started{Of: of, Port: l.Addr().(*net.TCPAddr).Port}, nil
}

// keep gives a connection a number.
func (s *supervisor) keep(c stream) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, open := s.number()
	if !open {
		_ = c.Close()
		return 0, fmt.Errorf("supervise: the channel is over")
	}
	s.streams[of] = c
	return of, nil
}

// freePort finds a port on which a tool can listen.
func freePort() (any, error) {
	l, err := net.Listen("tcp4", loopback+":0")
	if err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	return line.Started{Port: l.Addr().(*net.TCPAddr).Port}, l.Close()
}

// dial connects to a tool that listens.
func (s *supervisor) dial(a line.Started) (any, error) {
	conn, err := net.DialTimeout("tcp4", net.JoinHostPort(loopback, strconv.Itoa(a.Port)), time.Second)
	if err != nil {
		return nil, err
	}
	of, err := s.keep(conn)
	if err == nil {
		go s.carry(of, conn)
	}
	return line.Started{Of: of}, err
}

// carry sends the bytes received on a connection to the harness.
func (s *supervisor) carry(of uint64, conn net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := conn.Read(b)
		if n > 0 && s.out.Write(line.Reply{Event: line.EventData, Of: of, Data: b[:n]}) != nil {
			return
		}
		if err != nil {
			_ = s.out.Write(line.Reply{Event: line.EventClosed, Of: of})
			return
		}
	}
}

// write writes bytes to a connection.
func (s *supervisor) write(a line.Data) (any, error) {
	s.mu.Lock()
	conn, ok := s.streams[a.Of].(net.Conn)
	s.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("supervise: no connection %d", a.Of)
	}
	// A tool reads what it receives; and a blocked write would delay all other orders.
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := conn.Write(a.Bytes)
	return nil, err
}

// closeStream closes a connection.
func (s *supervisor) closeStream(a line.Started) (any, error) {
	s.mu.Lock()
	c := s.streams[a.Of]
	delete(s.streams, a.Of)
	s.mu.Unlock()
	if c != nil {
		_ = c.Close() // it may have ended
	}
	return nil, nil
}
