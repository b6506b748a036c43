package dut

import (
	"net"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Tool is a stock program and its work.
type Tool struct {
	Program string
	Active  bool // it sends the requests, and connects; otherwise it serves, and listens
	Answers bool // it serves, and works as much as its peer does
	Op      engine.Op
	Message unit.Size              // of each message; of a tool that serves, the buffer
	Count   int                    // messages
	Depth   int                    // of its send queue
	MTU     int                    // path MTU
	Timeout engine.LocalACKTimeout // of its transport timer

	posted              int   // receives of one that serves SENDs; 0 is as many as it wants
	retries, rnrRetries uint8 // that RDMA CM gives to the end that is connected to

	kind  kind
	turns scenario.TurnKind // the turns that it takes with its peer; "" for a tool of one direction
}

// kind is a family of tools that have an exchange in common.
type kind interface {
	args(t *Tool, at Setting) []string
}

// guest is a kind that is introduced over TCP.
type guest interface {
	meet(t *Tool, conn net.Conn, mine Identity) (*Meeting, error)
}

// caller is a kind that is introduced by RDMA CM.
type caller interface {
	call(t *Tool, cm *CM, port uint16, mine Identity) (*Meeting, error)
}

// Polls reports whether the tool, after the exchange of parameters, busy-waits for its peer, by polling its memory or
// its completion queue. Other tools sleep until an event.
func (t *Tool) Polls() bool {
	switch t.kind.(type) {
	case perftest:
		return t.Active || takesReceive(t.Op) || t.turns != ""
	case perftestCM, pingpong, udPingpong:
		return true
	}
	return false
}

// Waits reports whether the tool, once it has posted its requests, only collects completions and prints a report.
// perftest measures the processor's clock for the report, for 219 ms.
func (t *Tool) Waits() bool { return t.Active && t.turns == "" && t.Polls() }

// Spins reports whether the tool polls also where it only waits for its peer to begin or to end.
func (t *Tool) Spins() bool {
	_, exchanges := t.kind.(perftestCM)
	return exchanges || t.turns == scenario.WriteTurns
}

// Buffer returns the size of message for which a tool that serves makes a buffer of n bytes. One that receives posts
// buffers of one message each, whose size is part of the test.
func (t *Tool) Buffer(n uint64) unit.Size {
	if t.Op == engine.OpSend || t.turns != "" {
		return t.Message
	}
	return unit.Size(n)
}

// ByCM reports whether the tool is introduced by RDMA CM, and not over TCP.
func (t *Tool) ByCM() bool {
	_, ok := t.kind.(caller)
	return ok
}

// Fill is the value of every byte that must be sent to a tool that sends from the buffer that it receives into, because
// a retransmission by the device would otherwise have other bytes than the first transmission; 0 for other tools.
func (t *Tool) Fill() byte {
	if t.kind == (pingpong{}) {
		return pingpongFill
	}
	return 0
}

// String names the adapter: the program, its way to exchange parameters, and its role.
func (t *Tool) String() string {
	switch t.kind.(type) {
	case perftestCM:
		return t.Program + " -R"
	case rping:
		if t.Active {
			return t.Program + " -c"
		}
		return t.Program + " -s"
	}
	return t.Program
}

// Args returns the arguments of the command line.
func (t *Tool) Args(at Setting) []string {
	args := t.kind.args(t, at)
	if t.Active && !t.ByCM() {
		args = append(args, "127.0.0.1")
	}
	return args
}

// Attributes that the tools set and that no option changes.
const (
	toolRetries  = 7
	toolRNRRetry = 7
	toolRNRTimer = 12
)
