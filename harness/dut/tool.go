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
	Active  bool // sends the requests, and connects; otherwise it serves, and listens
	Answers bool // serves, and sends as much as its peer does
	Op      engine.Op
	Message unit.Size              // size of each message; of the buffer for a tool that serves
	Count   int                    // number of messages
	Depth   int                    // depth of its send queue
	MTU     int                    // path MTU
	Timeout engine.LocalACKTimeout // its transport timer

	posted              int   // receives of a tool that serves SENDs; 0 is the tool's default
	retries, rnrRetries uint8 // counts that RDMA CM gives to the end that is connected to

	kind  kind
	turns scenario.TurnKind // the turns that it takes with its peer; "" for a tool of one direction
}

// kind is a family of tools with the same exchange of parameters.
type kind interface {
	args(t *Tool, at Setting) []string
}

// guest is a kind that exchanges parameters over TCP.
type guest interface {
	meet(t *Tool, conn net.Conn, mine Identity) (*Meeting, error)
}

// caller is a kind that exchanges parameters by RDMA CM.
type caller interface {
	call(t *Tool, cm *CM, port uint16, mine Identity) (*Meeting, error)
}

// Polls reports whether the tool, after the exchange of parameters, busy-waits for its peer, by polling its memory or
// its completion queue. Other tools sleep until an event.
func (t *Tool) Polls() bool {
	switch t.kind.(type) {
	case perftest:
		return t.Active || t.Op.TakesReceive() || t.turns != ""
	case perftestCM, pingpong, udPingpong:
		return true
	}
	return false
}

// Waits reports whether the tool, once it has posted its requests, only collects completions and prints a report.
// perftest measures the processor's clock for the report, for 219 ms.
func (t *Tool) Waits() bool { return t.Active && t.turns == "" && t.Polls() }

// Spins reports whether the tool also polls while it only waits for its peer to begin or to end.
func (t *Tool) Spins() bool {
	_, exchanges := t.kind.(perftestCM)
	return exchanges || t.turns == scenario.WriteTurns
}

// Buffer returns the message size for which a tool that serves allocates a buffer of n bytes. A tool that receives
// posts buffers of one message each, whose size is part of the test.
func (t *Tool) Buffer(n uint64) unit.Size {
	if t.Op == engine.OpSend || t.turns != "" {
		return t.Message
	}
	return unit.Size(n)
}

// ByCM reports whether the tool exchanges parameters by RDMA CM instead of TCP.
func (t *Tool) ByCM() bool {
	_, ok := t.kind.(caller)
	return ok
}

// Fill is the value of every byte that must be sent to a tool that sends from the buffer into which it receives:
// otherwise a retransmission by the device would have other bytes than the first transmission. It is 0 for other tools.
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

// Attributes that the tools set and no option changes.
const (
	toolRetries  = 7
	toolRNRRetry = 7
	toolRNRTimer = 12
)
