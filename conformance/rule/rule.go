// Package rule defines a conformance rule: a value with a stable ID, the requirement that it quotes, the vantage points
// that it needs, and a constructor of its streaming check. It also judges a trace by rules (Judge).
//
// A check sees the sights and events of one half-conversation in time order, together with the state that the
// Conversation tracker has derived from all earlier ones. It keeps its own small state, notes that its stimulus arose
// (Met), and reports every violation (Fail). A rule whose stimulus never arose is INCONCLUSIVE, never PASS.
//
// Most rules are obligations: when T arises, P owes A in time, unless U. Such a check states with an Obligation when
// the duty arises, when it is discharged and when it is excused. It knows nothing of ports, queues, turns or clocks:
// every reason why an end may be late, or may not yet know of a packet that arrived, is in allowance.go and nowhere
// else.
package rule

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Level is how binding a rule is.
type Level string

// The levels of the catalogue. An Observation is reported and never fails.
const (
	Must        Level = "MUST"
	MustNot     Level = "MUST NOT"
	Should      Level = "SHOULD"
	Observation Level = "OBSERVATION"
)

// Vantage is a set of vantage points: kinds of evidence that a rule needs or a trace shows.
type Vantage uint32

// The vantage points (S, R, C, M, T and P of the catalogue; Fates is the fault log, which needs both taps).
const (
	TapRequester Vantage = 1 << iota // the requester's port, both directions
	TapResponder                     // the responder's port, both directions
	Fates                            // the fate of each packet on the link
	Completions                      // posts and completions
	Stores                           // every placement in memory
	Image                            // the memory images compared at the end
	Timers                           // timer settings
	Probes                           // engine variables and error counters
	Bytes                            // whole frames, not just decoded headers
	Attributes                       // QP attributes: timeout, retry counts, queue depth, MTU
	Receives                         // posts and completions of receives, at the responder

	Done    // that requests completed, at the latest when, and their status; Completions give the exact time and the order
	Posted  // posts of receives at the responder, a part of Receives
	Regions // the memory regions of the responder, a part of Probes
	// memory as the responder's application found it on completion of a receive; implied by Stores
	Checked

	Ordered   // the order of posts and completions without their times, a part of Completions
	Changes   // which bytes of the responder's regions differ from their values at the start; implied by Stores
	Datagrams // of a QP for datagrams: its Q_Key, its count of Q_Key violations, and the datagrams that it delivers
	// the numbers of requests posted and completed, with their status, those after a failed request included; a part of
	// Completions
	Flushed
	Assigned // the requests that the Spec orders the requester to post
	Frames   // single frames, which any tap shows: see Context.Maker
	AtDevice // of a rule of devices: the port of the device, both directions
	// what the operator told the requester of its path, and the depth of its queue; of a capture, if all of it is stated
	Configured
)

// Both is the two taps. Inside is the evidence that only an endpoint can report: no tap shows it.
const (
	Both   = TapRequester | TapResponder
	Inside = Completions | Stores | Image | Timers | Probes | Receives | Done | Posted | Regions | Checked | Ordered |
		Changes | Datagrams | Flushed
)

// Source is the specification or paper that a rule comes from.
type Source struct {
	Ref string `json:"ref"` // "IBTA 9.7.5.2", "GB1 IV-A"
	// Requirement states the requirement of the source in one sentence; quotations stand in quotation marks.
	Requirement string `json:"requirement"`
}

// Class is a set of packet classes at points of observation. A check is called for the sights of its Class.
type Class uint16

// The classes. Requests and Responses are seen at both taps. Foreign are packets of the connection that belong to no
// half-conversation: CNPs, unknown opcodes, frames that do not decode, and packets without BTH. The last are shown to
// both half-conversations; in the half-conversation of the side that did not send the packet, its points are those of a
// response. ReadAcks are acknowledgements of READ responses in a PSN space of their own; they travel with the requests.
// ReleaseIn is a request that the responder had kept out of order, shown a second time when its turn has come, after
// the request that it waited for. Accepts are the requests in the order in which the responder executes them.
//
// Where a shim.Decoder lies between port and transport, RequestIn and ResponseIn are the packets that it passes up, and
// CodedIn are the packets that reach the port. RepairOut and RepairIn are repair packets and announcements of the
// coding scheme; they belong to the half-conversation whose data they protect.
const (
	RequestOut  Class = 1 << iota // requests leaving the requester
	RequestIn                     // requests arriving at the responder
	ResponseOut                   // responses leaving the responder
	ResponseIn                    // responses arriving at the requester
	Foreign
	ReadAckOut
	ReadAckIn
	ReleaseIn
	CodedIn
	RepairOut
	RepairIn
	Route     // all sights of the connection on both hops of a path with a middlebox
	Requests  = RequestOut | RequestIn
	Responses = ResponseOut | ResponseIn
	ReadAcks  = ReadAckOut | ReadAckIn
	Accepts   = RequestIn | ReleaseIn
	Arrivals  = RequestIn | ResponseIn | ReadAckIn    // all packets that an endpoint receives, except repair packets
	Emitted   = RequestOut | ResponseOut | ReadAckOut // all packets that an endpoint sends, except repair packets
)

// Rule is one rule of the catalogue.
type Rule struct {
	ID     string // "GBN-NAK-002", never renumbered
	Level  Level
	Title  string // the rule itself, in one sentence
	Source Source
	Needs  Vantage
	// properties of link, capture and host on which the evidence rests; 0 derives them from Needs, see RestsOn
	Rests    validity.Property
	Sees     Class    // classes of the sights that the check is called for
	Features []string // features that an implementation must declare, "gbn", "ud"; empty: every RC engine
	Any      bool     // with empty Features: every transport, not only RC
	// the rule judges each device that reports its counters, over all connections of the device: see Device
	Device   bool
	Without  string // a feature whose implementations the rule does not apply to; mostly empty
	Stimulus string // what must happen for the rule to be exercised, as in the catalogue
	BlackBox string // kinds of device that can be judged: "HW,RXE", "ENG"
	Unbuilt  string // why there is no verdict yet: the vantage point or peer that is missing; mostly empty

	// Wakes are the kinds of sight that can make the check report or change its state. In a trace that shows frames
	// alone the check is constructed at the first sight of such a kind. 0: at the first sight of any kind.
	Wakes Kind

	// Dozes applies Wakes to a trace in which endpoints report events: the check is constructed at once and sees every
	// event, but no sight before the first one of a kind in Wakes. Check.Wake is called before that sight.
	Dozes bool

	// Minds are the kinds of sight that the check is called for; a sight of no such kind neither violates the rule nor
	// changes the state of the check. 0: all kinds.
	Minds Kind

	// New constructs the check of one half-conversation, which may keep state; Each judges every sight without state,
	// or with the State of a rule that Keeps one. A rule has one of the two, or is Unbuilt. An Each without state of a
	// rule that Rests on validity.Frames, and one that Looks, is called once or twice for frames that look alike. It may
	// read nothing but their headers except PSN, AckReq and MSN, their length, padding and ICRC, and the attributes of
	// the connection.
	New   func(c *Context) Check
	Each  func(c *Context, s *Sight)
	Keeps bool                             // Each keeps a State
	Looks bool                             // the State follows from what Each without state may read, the order aside
	Told  func(c *Context, e *trace.Event) // of a rule with an Each: its events; nil sees none
}

// State returns what a rule that Keeps has stored in the half-conversation of c; the first call makes it. A flow costs
// nothing for a rule that has had nothing to remember.
func State[T any](c *Context) *T {
	t, ok := (*c.state).(*T)
	if !ok {
		t = new(T)
		*c.state = t
	}
	return t
}

// Kept returns the Each of a rule that Keeps: it calls a method of its State for every sight.
func Kept[T any](sight func(t *T, c *Context, s *Sight)) func(*Context, *Sight) {
	return func(c *Context, s *Sight) { sight(State[T](c), c, s) }
}

// Attentive returns the rule without Wakes, Dozes, Minds and Looks: its check is constructed at once and sees every
// sight of the rule's Class. The verdict is the same, which is tested.
func (r Rule) Attentive() Rule {
	r.Wakes, r.Dozes, r.Minds, r.Looks = 0, false, 0, false
	return r
}

// Check is the check of a rule in one half-conversation or of one device. A nil function is not called.
type Check struct {
	Sight func(s *Sight)
	Event func(e *trace.Event)
	End   func(at vtime.Time)
	Wake  func() // of a rule that Dozes: initialises the state of the check from the Conversation
}

// Complete returns an error that names the field which the definition of a rule lacks.
func Complete(r *Rule) error {
	for _, f := range []struct{ name, value string }{
		{"level", string(r.Level)}, {"title", r.Title}, {"source", r.Source.Ref},
		{"requirement of the source", r.Source.Requirement},
		{"stimulus", r.Stimulus}, {"list of black boxes", r.BlackBox},
	} {
		if f.value == "" {
			return fmt.Errorf("rule %s: no %s", r.ID, f.name)
		}
	}
	if (r.New == nil && r.Each == nil) != (r.Unbuilt != "") || r.New != nil && r.Each != nil {
		return fmt.Errorf("rule %s: give one of New and Each, or the reason why it is unbuilt", r.ID)
	}
	if !r.built() {
		return nil
	}
	check := Check{Sight: func(*Sight) {}}
	if r.New != nil {
		check = r.New(&Context{&Conversation{Attr: &engine.QP{}, PeerAttr: &engine.QP{}, Port: &Port{},
			conn: &trace.Conn{}}, &account{rule: r, judge: &Judge{}}, nil})
	}
	if check.Event == nil && (check.Sight == nil || r.Sees == 0) {
		return fmt.Errorf("rule %s: sees neither packets nor events", r.ID)
	}
	if check.Sight == nil && r.Sees != 0 {
		return fmt.Errorf("rule %s: names packets to see but has no check of them", r.ID)
	}
	return nil
}
