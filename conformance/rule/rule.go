// Package rule is what a conformance rule is: a value with a stable ID, a source to quote, the vantage points it needs,
// and a constructor of its streaming check.
//
// A check sees sights and events of one half-conversation in time order, together with what the Conversation tracker
// has derived from everything before. It keeps its own small state, says when its stimulus arose (Met), and reports
// every violation it finds (Fail). A check whose stimulus never arose is inconclusive, never passed.
//
// Most rules are obligations: when T arises, P owes A in time, unless U. Such a check says with an Obligation when it
// arises, when it is discharged and what excuses it, and knows nothing of ports, queues, turns or clocks: every reason
// why an end may be late, or may not have heard yet, is in allowance.go and nowhere else.
package rule

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Level says how binding a rule is.
type Level string

// The levels of the catalogue. An Observation is reported and never fails.
const (
	Must        Level = "MUST"
	MustNot     Level = "MUST NOT"
	Should      Level = "SHOULD"
	Observation Level = "OBSERVATION"
)

// Vantage is the set of things a rule has to see.
type Vantage uint32

// The vantage points (S, R, C, M, T and P of the catalogue; Fates is the fault log, which needs both taps).
const (
	TapRequester Vantage = 1 << iota // the requester's port, both directions
	TapResponder                     // the responder's port, both directions
	Fates                            // what the link did to each packet
	Completions                      // posts and completions
	Stores                           // every placement in memory
	Image                            // the memory images compared at the end
	Timers                           // timer settings
	Probes                           // engine variables and error counters
	Bytes                            // whole frames, not just decoded headers
	Attributes                       // QP attributes: timeout, retry counts, queue depth, MTU
	Receives                         // posts and completions of receives, at the responder

	Done    // that requests have completed, by when and with what status; Completions say when, and in which order
	Posted  // posts of receives at the responder, a part of Receives
	Regions // the memory regions of the responder, a part of Probes
	// memory as the application at the responder found it when a receive had completed, which Stores tell as well
	Checked

	Ordered   // posts and completions in their order, but not when, a part of Completions
	Changes   // which bytes of the responder's regions are not what they were at the start, which Stores tell as well
	Datagrams // of a QP for datagrams: its Q_Key, the violations that it counts, and what it delivers
	// how many requests were posted and how many completed, with what status, also after one that failed, a part of
	// Completions
	Flushed
	Assigned // what the Spec tells the requester to post
	Frames   // nothing but what each frame shows, so that any tap will do: see Context.Maker
	AtDevice // of a rule of devices: the port of the device, both directions
)

// Both needs the two taps, and Inside is what no tap shows.
const (
	Both   = TapRequester | TapResponder
	Inside = Completions | Stores | Image | Timers | Probes | Receives | Done | Posted | Regions | Checked | Ordered |
		Changes | Datagrams | Flushed
)

// Source is where a rule comes from.
type Source struct {
	Ref string `json:"ref"` // "IBTA 9.7.5.2", "GB1 IV-A"
	// Requirement is what the source asks for, in one sentence; words of the source itself stand in quotation marks.
	Requirement string `json:"requirement"`
}

// Class is a set of packet classes at one or more points: which sights a check wants to be called for.
type Class uint16

// The interests. Requests and Responses are seen at both taps; Foreign are packets of the connection that belong to no
// half-conversation: CNPs, unknown opcodes, frames that do not decode, and packets without BTH, which are shown to both
// half-conversations: in that of the side that did not send one, its points are those of a response. ReadAcks are
// acknowledgements of READ responses that are numbered apart, which travel with the requests. ReleaseIn is a request
// that a responder had kept, seen again when its turn has come, after the request that it waited for; Accepts is what a
// responder takes in order.
//
// Where a Decoder lies between port and transport, RequestIn and ResponseIn are what it passes up, and CodedIn is what
// it is given: the packets as they reach the port. RepairOut and RepairIn are its own packets, which belong to the
// half-conversation whose data they protect.
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
	Route     // everything that is seen of the connection on both hops of a path with a box in it
	Requests  = RequestOut | RequestIn
	Responses = ResponseOut | ResponseIn
	ReadAcks  = ReadAckOut | ReadAckIn
	Accepts   = RequestIn | ReleaseIn
	Arrivals  = RequestIn | ResponseIn | ReadAckIn    // everything an endpoint receives, but for repair packets
	Emitted   = RequestOut | ResponseOut | ReadAckOut // everything an endpoint sends, but for repair packets
)

// Rule is one rule of the catalogue.
type Rule struct {
	ID     string // "GBN-NAK-002", never renumbered
	Level  Level
	Title  string // the rule itself, in one sentence
	Source Source
	Needs  Vantage
	// properties of link, capture and host that the evidence rests on; 0 is by what it needs, see RestsOn
	Rests    validity.Property
	Sees     Class    // sights that the check is called for
	Features []string // features an implementation must declare, "gbn", "ud"; empty for all RC engines
	Any      bool     // without Features: for every transport
	// it is judged of each device that tells its counters, over all its connections: see Device
	Device   bool
	Without  string // a feature with which the rule does not apply; empty for most
	Stimulus string // what must happen for the rule to be exercised, as in the catalogue
	BlackBox string // which foreign devices can be judged: "HW,RXE", "ENG"
	Unbuilt  string // not empty: no verdict yet, and this is why (which vantage or peer is missing)

	// Wakes are the kinds of sight before which the check, of a trace that shows frames alone, has nothing to remember
	// and nothing to say: it is made with the first one of them. None is any sight.
	Wakes Kind

	// Dozes says the same of a trace in which endpoints report: the check is made at once, is told of events, and is
	// shown no sight before the first of such a kind. Check.Wake is called then.
	Dozes bool

	// Minds are the kinds of sight that the check is called for at all: one of no such kind neither shows it anything
	// nor moves what it remembers. None is any sight.
	Minds Kind

	// New starts a check for one half-conversation, which may remember what it has seen; Each judges every sight for
	// itself. A rule has one of the two, or is Unbuilt. An Each that Rests on validity.Frames is called once for frames
	// that look alike: all that it may go by is their headers but for PSN, AckReq and MSN, their length, padding and
	// ICRC, and what the connection has agreed on.
	New  func(c *Context) Check
	Each func(c *Context, s *Sight)
}

// Attentive returns the rule with a check that is made at once and shown all that the rule sees. It is judged no
// differently, which is tested.
func (r Rule) Attentive() Rule {
	r.Wakes, r.Dozes, r.Minds = 0, false, 0
	return r
}

// Check is the running form of a rule. A nil function is not called.
type Check struct {
	Sight func(s *Sight)
	Event func(e *trace.Event)
	End   func(at vtime.Time)
	Wake  func() // of a rule that Dozes: takes what it has not seen from the Conversation
}

// Complete returns an error that names what the definition of a rule lacks.
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
