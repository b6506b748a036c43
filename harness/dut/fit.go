package dut

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Name is the name of the kernel's soft-RoCE in Specs, verdicts and waivers, and RNIC the name of any other device: the
// testbed file says which device it is, so that a Spec is the same in all labs.
const (
	Name = "rxe"
	RNIC = "rnic"
)

// Names returns the names of devices.
func Names() []string { return []string{Name, RNIC} }

// Known reports whether a name is that of a device.
func Known(name string) bool { return slices.Contains(Names(), name) }

// Implementation describes soft-RoCE to rules: a reliable connection with go-back-N. It has no engine.
func Implementation() engine.Implementation { return Describe(Name) }

// Describe describes the device with the given name.
func Describe(name string) engine.Implementation {
	title := "soft-RoCE, the Linux kernel's rdma_rxe"
	if name == RNIC {
		title = "an RNIC, on a host of a testbed"
	}
	return engine.Implementation{Name: name, Title: title, Source: "IBTA", Recover: "gbn"}
}

// Unconnected is the feature of a device below a tool for datagrams, to which the rules about datagrams apply.
const Unconnected = "ud"

// ErrUnfit is wrapped by the error of Fit when no tool does the work of a Spec.
var ErrUnfit = errors.New("no tool does that")

// Fit returns the tool that does a side's part of a Spec, and the Spec as it runs with this tool: values that the tool
// chooses itself are changed, the others stay.
//
// A device that serves accepts all requests of its peer, which must be of one operation. A device that sends repeats
// one message, at least five times, at times that the tool chooses.
func Fit(given *scenario.Spec, side trace.Side) (*Tool, *scenario.Spec, error) {
	work, err := workOf(given, side)
	if err != nil {
		return nil, nil, err
	}
	s := *given
	t := &Tool{Active: work.from == side && !work.bothWays, Answers: work.bothWays, Op: work.op, MTU: s.QP[side].MTU,
		Depth: s.QP[side].QueueDepth, Count: work.count, Message: work.message, turns: work.turns}
	if err := t.suits(&s, side, &work); err != nil {
		return nil, nil, err
	}
	if t.readOnly(s.QP[side].Access) {
		t.Op = engine.OpRead // the tool enables no other right, so the device refuses all other requests of its peer
	}
	t.choose()
	if work.datagrams {
		t.Program, t.kind = "ibv_ud_pingpong", udPingpong{}
	}
	if s.CM == scenario.CMOn {
		if k, ok := t.kind.(perftest); ok {
			t.kind = perftestCM{k}
		}
		s.CM = scenario.CMOff // the connection is set up before the run, not by the endpoint
	}
	t.Timeout = adopt(&s, side, t)
	switch {
	case t.turns != "":
		t.takeTurns(&s, side, given.QP[side])
	case t.Active:
		t.repeat(&s, side)
		delay(&s)
	case t.Answers:
		alternate(&s, side)
	default:
		t.Count = endless
		t.receive(&s)
	}
	if t.Active && t.ByCM() {
		t.MTU = kernelMTU
		s.QP[side].MTU, s.QP[side.Other()].MTU = t.MTU, t.MTU
	}
	if s.Limit = min(s.Limit, Longest); !Known(s.Impl[side]) {
		s.Impl[side] = Name
	}
	return t, &s, nil
}

// alternate makes the peer answer each message of the tool. The tool allows for one message at a time, and sends no
// more when two come before its own is acknowledged.
func alternate(s *scenario.Spec, side trace.Side) {
	s.Loads = slices.Clone(s.Loads)
	for i := range s.Loads {
		if s.Loads[i].From != side {
			s.Loads[i].Ahead = 1
		}
	}
	s.QP[side.Other()].QueueDepth = 1
}

// receive adopts the Spec's receives for a tool that serves SENDs.
func (t *Tool) receive(s *scenario.Spec) {
	if t.Op != engine.OpSend {
		return
	}
	if s.ReceiveLen > 0 {
		t.Message = s.ReceiveLen // so that a longer SEND is an error, as in the Spec
	}
	if s.Receives <= fewReceives {
		t.posted = s.Receives
	}
}

// readOnly reports whether the access rights of the tool's side require a tool that serves READs only.
func (t *Tool) readOnly(rights engine.Access) bool {
	return rights == engine.RemoteRead|engine.LocalWrite && !t.Active && !t.Answers
}

// suits returns an error for a Spec for which no tool of this kind can be configured.
func (t *Tool) suits(s *scenario.Spec, side trace.Side, w *work) error {
	switch q := &s.QP[side]; {
	case s.QPs != 1, len(s.Params) > 0:
		return fmt.Errorf("dut: several connections or parameters: %w", ErrUnfit)
	case s.CM == scenario.CMOn && w.bothWays && w.turns != scenario.PingTurns:
		return fmt.Errorf("dut: connection management of a tool of both directions: %w", ErrUnfit)
	case q.Access != engine.AllAccess && !t.readOnly(q.Access), q.AckCoalesce > 1, q.PKey != s.QP[side.Other()].PKey:
		return fmt.Errorf("dut: rights, coalescing or partition: %w", ErrUnfit)
	case t.Active && endlessFault(s):
		return fmt.Errorf("dut: silence without end, in which a tool tries for ever: %w", ErrUnfit)
	case t.Active && w.mixed:
		return fmt.Errorf("dut: messages of several sizes: %w", ErrUnfit)
	case !t.Active && s.Receives == 0 && t.Op.TakesReceive():
		return fmt.Errorf("dut: a queue without receives: %w", ErrUnfit)
	}
	return nil
}

// endlessFault reports whether everything that one side sends is lost for ever. Tools ask for 7 retries, and soft-RoCE
// then retries without limit.
func endlessFault(s *scenario.Spec) bool {
	for _, f := range s.Faults {
		if f.Count < 0 && s.For == 0 && f.Type == "" && !f.PSN.Given {
			return true
		}
	}
	return false
}

// takeTurns sets up a tool that takes turns with its peer. With rping the end that connects begins; with ib_write_lat
// the one that listens.
func (t *Tool) takeTurns(s *scenario.Spec, side trace.Side, given engine.QP) {
	t.Active = (s.Turns.From == side) == (t.turns == scenario.PingTurns)
	if t.turns == scenario.WriteTurns {
		t.Count = max(t.Count, leastCount)
		s.Turns.Count = t.Count
		return
	}
	t.Answers = t.Active // an rping that serves waits for the end of the connection
	q := &s.QP[side]
	q.MinRNRTimer, q.MaxRdAtomic, q.MaxDestRd = pingRNRTimer, pingReads, pingReads
	// The end that connects sends its retry counts to the other.
	if t.retries, t.rnrRetries = toolRetries, toolRNRRetry; !t.Active {
		q.RetryCount, q.RNRRetry = given.RetryCount, given.RNRRetry
		t.retries, t.rnrRetries = uint8(q.RetryCount), uint8(q.RNRRetry)
	}
}

// choose selects the program.
func (t *Tool) choose() {
	switch {
	case t.turns == scenario.PingTurns:
		t.Program, t.kind = "rping", rping{}
	case t.turns == scenario.WriteTurns:
		t.Program, t.kind = "ib_write_lat", perftest{syncs: 3, latency: true}
	case t.Answers:
		t.Program, t.kind = "ibv_rc_pingpong", pingpong{}
	case t.Op == engine.OpRead:
		t.Program, t.kind = "ib_read_bw", perftest{syncs: 2}
	case t.Op == engine.OpWrite:
		t.Program, t.kind = "ib_write_bw", perftest{syncs: 2}
	default:
		t.Program, t.kind = "ib_send_bw", perftest{syncs: 3}
	}
}

// adopt sets the attributes that the tool and the device choose, and returns the code of the transport timer: the
// smallest whose time is not below the requested one.
func adopt(s *scenario.Spec, side trace.Side, t *Tool) engine.LocalACKTimeout {
	q := &s.QP[side]
	code := q.Timeout
	if q.RTO > 0 {
		for code = 1; code < 31 && code.Duration() < q.RTO; code++ {
		}
	}
	q.Timeout, q.RTO = code, 0
	q.RetryCount, q.RNRRetry, q.MinRNRTimer = toolRetries, toolRNRRetry, toolRNRTimer
	q.MaxRdAtomic, q.MaxDestRd = toolReads, toolReads
	q.CQModeration = 1
	return code
}

// repeat sets up a tool that sends: it repeats one message.
func (t *Tool) repeat(s *scenario.Spec, side trace.Side) {
	t.Count = max(t.Count, leastCount)
	t.Depth = min(t.Depth, t.Count)
	s.Posts = receives(s.Posts, t.Count)
	s.Loads = []scenario.Load{{From: side, Op: t.Op, Msg: t.Message, Count: t.Count}}
	s.QP[side].QueueDepth = t.Depth
}

// Lead is the time after the start of the run at which a tool may send; its peer, an endpoint, is ready by then.
const Lead = 20 * vtime.Millisecond

// delay shifts the times of a script to the time at which a tool may send.
func delay(s *scenario.Spec) {
	s.Posts, s.Injections = slices.Clone(s.Posts), slices.Clone(s.Injections)
	for i := range s.Posts {
		s.Posts[i].At += Lead
	}
	for i := range s.Injections {
		s.Injections[i].At += Lead
	}
}

// fewReceives is the largest number of receives in a Spec that is taken to be meant to run out.
const fewReceives = 8

// receives keeps the receives of a script, and repeats the last until there is one for each message, because a tool
// does not give up.
func receives(posts []scenario.Post, n int) (kept []scenario.Post) {
	for _, p := range posts {
		if p.Receive {
			kept = append(kept, p)
		}
	}
	for len(kept) > 0 && len(kept) < n {
		next := kept[len(kept)-1]
		next.WR.ID++
		kept = append(kept, next)
	}
	return kept
}

// work is the workload of a Spec, reduced to what tools can do.
type work struct {
	from    trace.Side
	op      engine.Op
	message unit.Size // the longest
	count   int
	mixed   bool // messages differ in size
	begun   bool

	bothWays bool              // each side SENDs the same messages as the other
	turns    scenario.TurnKind // the kind of turns; "" when the sides do not take turns

	datagrams bool // injected datagrams, to a QP without connection
}

// workOf reduces the work of a Spec: it must be of one side and one operation, or the same SENDs of both sides.
func workOf(s *scenario.Spec, device trace.Side) (w work, err error) {
	if t := s.Turns; t.Taken() {
		return work{from: t.From, op: engine.OpWrite, message: t.Msg, count: t.Count,
			bothWays: true, turns: t.Kind}, nil
	}
	if mirrored(s) {
		l := s.Loads[0]
		return work{from: l.From, op: l.Op, message: l.Msg, count: l.Count, bothWays: true}, nil
	}
	for _, l := range s.Loads {
		if len(l.Sizes) > 0 || l.Offered != 0 || l.Every != 0 {
			return w, fmt.Errorf("dut: messages of several sizes or by the clock: %w", ErrUnfit)
		}
		err = errors.Join(err, w.add(l.From, l.Op, l.Msg, l.Count))
	}
	for _, p := range s.Posts {
		switch {
		case p.BadKey, p.Receive && p.From == device:
			return w, fmt.Errorf("dut: receives or keys at a time: %w", ErrUnfit)
		case p.Receive:
			continue // receives of the endpoint do not concern the tool
		}
		err = errors.Join(err, w.add(p.From, p.WR.Op, unit.Size(p.WR.Len), 1))
	}
	w.serve(s, device)
	if err == nil && (w.count == 0 || s.For > Longest) {
		err = fmt.Errorf("dut: no work, or work without end: %w", ErrUnfit)
	}
	return w, err
}

// serve sets the work of a device that receives injected packets only: it serves the operation of the first.
func (w *work) serve(s *scenario.Spec, device trace.Side) {
	for _, in := range s.Injections {
		if op, ok := craftedOp(in.Packet); ok && in.To == device && !w.begun {
			w.begun, w.from, w.op, w.message, w.count = true, device.Other(), op, served, 1
			if w.datagrams = datagram(in.Packet); w.datagrams {
				w.message = datagramLen
			}
		}
	}
}

// craftedOp returns the operation of an injected packet; ok is false when no tool has that operation.
func craftedOp(packet string) (op engine.Op, ok bool) {
	switch word, _, _ := strings.Cut(packet, "_"); word {
	case "SEND":
		return engine.OpSend, true
	case "UD":
		return engine.OpSend, datagram(packet)
	case "WRITE":
		return engine.OpWrite, true
	case "READ":
		return engine.OpRead, strings.HasPrefix(packet, "READ_REQUEST")
	}
	return 0, false
}

// datagram reports whether an injected packet is an unreliable datagram.
func datagram(packet string) bool { return strings.HasPrefix(packet, "UD_SEND") }

// served is the message size of a tool that serves only injected packets, in bytes.
const served = 4096

// endless exceeds the number of messages of any run: a tool that serves must not end before the run.
const endless = 100_000

// mirrored reports whether each side SENDs the same messages as the other, no more than the tool posts receives for.
func mirrored(s *scenario.Spec) bool {
	if len(s.Loads) != 2 || len(s.Posts) > 0 {
		return false
	}
	a, b := s.Loads[0], s.Loads[1]
	return a.From != b.From && a.Op == engine.OpSend && b.Op == a.Op && a.Msg == b.Msg && a.Count == b.Count &&
		a.Count > 0 && a.Count <= pingpongReceives && len(a.Sizes)+len(b.Sizes) == 0 && a.Offered == 0 && b.Offered == 0
}

// pingpongReceives is the number of receives that ibv_rc_pingpong keeps posted.
const pingpongReceives = 500

// Longest is the time limit of a run with a device, which may never answer. A bench may let a run last longer while its
// work gets ahead.
const Longest = 20 * vtime.Second

func (w *work) add(from trace.Side, op engine.Op, n unit.Size, count int) error {
	plain := []engine.Op{engine.OpSend, engine.OpWrite, engine.OpRead}
	switch {
	case !slices.Contains(plain, op):
		return fmt.Errorf("dut: %s: %w", op, ErrUnfit)
	case w.begun && (from != w.from || op != w.op):
		return fmt.Errorf("dut: work of both sides, or of several operations: %w", ErrUnfit)
	}
	w.mixed = w.mixed || w.begun && n != w.message
	w.begun, w.from, w.op = true, from, op
	w.message, w.count = max(w.message, n), w.count+count
	return nil
}
