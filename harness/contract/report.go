package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Events of the lines that a program writes.
const (
	SaysCapabilities = "capabilities" // the first line: the program's name, version and declared capabilities
	SaysReady        = "ready"        // the QPs exist and answer from now on
	SaysShare        = "share"        // from time to time: the part of the work that is done
	SaysPosted       = "posted"       // a request was given to the transport
	SaysReceive      = "receive"      // a receive was posted
	SaysCompleted    = "completed"    // a request has completed, well or not
	SaysReceived     = "received"     // a receive has completed
	SaysDeclared     = "declared"     // bytes of a Write-Record are valid
	SaysLost         = "lost"         // a SEND did not come whole in time, and its receive is free again
	SaysIdle         = "idle"         // all work has completed
	SaysBusy         = "busy"         // there is work again after idle
	SaysCounter      = "counter"      // packets dropped below the transport, for a reason
	SaysState        = "state"        // a variable that the QPs share
	SaysStopped      = "stopped"      // the program sends no more packets
	SaysVerified     = "verified"     // the memory has been compared
	SaysError        = "error"        // the program cannot go on, with the reason
)

// Report is one line of a program. As of an Order, a line has the fields of its Event.
type Report struct {
	Event string `json:"event"`

	*Capabilities

	SetupTime int64   `json:"setup_ns,omitempty"` // ready: duration of the setup
	TCP       string  `json:"tcp,omitempty"`      // ready: the TCP that carries the QPs, and its congestion control
	Share     float64 `json:"share,omitempty"`    // share: 0 to 1

	// Of posted, receive, completed, received, declared and lost. At is CLOCK_MONOTONIC, as that of start.
	At        int64  `json:"at_ns,omitempty"`
	OnQP      int    `json:"qp,omitempty"`
	WR        uint64 `json:"wr,omitempty"`
	Operation string `json:"operation,omitempty"`
	Status    string `json:"status,omitempty"`
	Bytes     uint32 `json:"bytes,omitempty"`
	PSN       uint32 `json:"psn,omitempty"` // completed: the last of the request; received: the last of the message
	Imm       uint32 `json:"imm,omitempty"`
	Key       uint32 `json:"rkey,omitempty"`
	VA        uint64 `json:"va,omitempty"`
	Peer      uint16 `json:"peer,omitempty"` // received, declared, lost: port of the sender, over datagrams
	More      bool   `json:"more,omitempty"` // declared: another entry of the same map follows

	Variable string `json:"variable,omitempty"` // counter, state
	Value    int64  `json:"value,omitempty"`

	// Of stopped.
	Undone string `json:"undone,omitempty"`  // the work that was not done, in words
	Late   int64  `json:"late_ns,omitempty"` // the longest time that a packet or a timer waited to be served
	// time for which the line was idle with packets to send, because the process had no processor
	Starved   int64  `json:"starved_ns,omitempty"`
	Dropped   uint64 `json:"dropped,omitempty"`      // frames that the program was too slow to receive
	MaxMemory int64  `json:"memory_bytes,omitempty"` // peak memory of the process
	// processor time of the process from start to stop, of all its threads
	Processor int64 `json:"cpu_ns,omitempty"`
	// the peer's input for verify, which the bench passes on unread
	Memory json.RawMessage `json:"memory,omitempty"`

	Error string `json:"error,omitempty"` // error: one line
}

// DecodeReport reads and checks one line of a program. The error names the fault of the line and the remedy.
func DecodeReport(line []byte) (Report, error) {
	var r Report
	if err := decode(line, &r); err != nil {
		return r, fmt.Errorf("%.60q is no line of the contract: %s", line, quote.Line(plain(err), quote.Sentence))
	}
	for _, text := range []*string{&r.Error, &r.Undone, &r.TCP} {
		if *text != "" {
			*text = quote.Line(*text, quote.Sentence)
		}
	}
	return r, r.check()
}

// decode reads a line into a struct that has all fields a line can have. An unknown field is an error, because it may
// be a misspelt one.
func decode(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value on the line")
	}
	return nil
}

// plain restates an error of encoding/json in the terms of the contract.
func plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
	if field == "" {
		return fmt.Sprintf("%s; want an object", wrong.Value)
	}
	return fmt.Sprintf("%s: %s; want %s", field, wrong.Value, wanted(wrong.Type.Kind()))
}

// wanted names the JSON type of a field.
func wanted(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number in its range"
}

// check returns the first error within a line; Dialog checks the order of lines.
func (r *Report) check() error {
	switch r.Event {
	case SaysCapabilities:
		if r.Capabilities == nil {
			r.Capabilities = &Capabilities{}
		}
		return r.Capabilities.check()
	case SaysShare:
		if r.Share < 0 || r.Share > 1 {
			return fmt.Errorf("share: %g; want 0 to 1", r.Share)
		}
	case SaysPosted, SaysReceive, SaysCompleted, SaysReceived, SaysDeclared, SaysLost:
		return r.checkWork()
	case SaysCounter, SaysState:
		if !named(r.Variable) {
			return fmt.Errorf("%s: variable %.20q; want a name: %s", r.Event, r.Variable, ofName)
		}
	case SaysError:
		if r.Error == "" {
			return fmt.Errorf("error: says nothing; want the reason in error")
		}
	case SaysReady, SaysIdle, SaysBusy, SaysStopped, SaysVerified:
	default:
		return fmt.Errorf("event %.20q: unknown; known: %s", r.Event, strings.Join(events, " "))
	}
	return nil
}

var events = []string{SaysCapabilities, SaysReady, SaysShare, SaysPosted, SaysReceive, SaysCompleted, SaysReceived,
	SaysDeclared, SaysLost, SaysIdle, SaysBusy, SaysCounter, SaysState, SaysStopped, SaysVerified, SaysError}

// checkWork checks a line about a request or a receive.
func (r *Report) checkWork() error {
	names := r.Event == SaysPosted || r.Event == SaysCompleted || r.Event == SaysReceived
	if _, ok := Op(r.Operation); !ok && names {
		return fmt.Errorf("%s: operation %.20q; want one of %s", r.Event, r.Operation, strings.Join(opNames(), " "))
	}
	if _, ok := Status(r.Status); !ok && (r.Event == SaysCompleted || r.Event == SaysReceived) {
		return fmt.Errorf("%s: status %.20q; want SUCCESS or the name of an error, such as RETRY_EXC_ERR",
			r.Event, r.Status)
	}
	if r.PSN >= 1<<24 {
		return fmt.Errorf("%s: psn %d; want 24 bits", r.Event, r.PSN)
	}
	if r.OnQP < 0 {
		return fmt.Errorf("%s: qp %d; want the n of a qp line", r.Event, r.OnQP)
	}
	return nil
}

// Op returns the operation with a name that engine.Op prints.
func Op(name string) (engine.Op, bool) {
	for op := engine.OpSend; op <= engine.OpFetchAdd; op++ {
		if op.String() == name {
			return op, true
		}
	}
	return 0, false
}

func opNames() (names []string) {
	for op := engine.OpSend; op <= engine.OpFetchAdd; op++ {
		names = append(names, op.String())
	}
	return names
}

// Status returns the completion status with a name that engine.Status prints.
func Status(name string) (engine.Status, bool) {
	for s := engine.StatusSuccess; s <= engine.StatusRNRRetryExceeded; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}
