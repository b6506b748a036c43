package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/workload"
)

// Load is a workload of every QP of one side. It is a closed loop, in which QueueDepth requests are kept outstanding,
// unless Offered or Every is set: then messages arrive by the clock, and wait where the queue is full.
type Load struct {
	From    trace.Side
	Op      engine.Op      // OpSend, OpSendImm, OpWrite, OpWriteImm or OpRead
	Msg     unit.Size      // bytes per message, where there are no Sizes
	Sizes   workload.CDF   // of the messages
	Offered unit.Ratio     // payload of all QPs together as a share of the link's rate, in Poisson arrivals
	Every   vtime.Duration // one message per QP, all QPs at the same time
	Count   int            // messages per QP; 0 goes on until Spec.For
	Ahead   int            // most messages of a QP beyond those that it has received from its peer; 0 is no limit
}

// String prints the load as a statement.
func (l Load) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "load %s from=%s", loadName(l.Op), l.From)
	add := func(on bool, format string, v any) {
		if on {
			fmt.Fprintf(&b, format, v)
		}
	}
	add(len(l.Sizes) == 0, " msg=%s", l.Msg)
	add(len(l.Sizes) > 0, " cdf=%s", l.Sizes)
	add(l.Offered > 0, " offered=%s", l.Offered)
	add(l.Every > 0, " every=%s", l.Every)
	add(l.Ahead > 0, " ahead=%d", l.Ahead)
	fmt.Fprintf(&b, " count=%d", l.Count)
	return b.String()
}

// Largest returns the size of the largest message.
func (l *Load) Largest() unit.Size { return max(l.Msg, l.Sizes.Largest()) }

// Mean returns the mean size of the messages in bytes.
func (l *Load) Mean() float64 {
	if len(l.Sizes) > 0 {
		return l.Sizes.Mean()
	}
	return float64(l.Msg)
}

// Data is the side that the bytes come from.
func (l *Load) Data() trace.Side {
	if l.Op == engine.OpRead {
		return l.From.Other()
	}
	return l.From
}

// Flows returns the messages of the load's share on one QP; i counts the loads of the Spec.
func (s *Spec) Flows(i, qp int) workload.Flows {
	l := &s.Loads[i]
	f := workload.Sized(l.Sizes, l.Msg, splitmix.Stream(s.Seed).Sub(uint64(i)).Sub(uint64(qp)))
	switch {
	case l.Offered > 0:
		return f.Poisson(workload.MeanGap(l.Mean(), l.Offered, s.sends(l.Data())) * vtime.Duration(s.QPs))
	case l.Every > 0:
		return f.Every(l.Every)
	}
	return f
}

// Ideal returns the completion time of a message of n bytes from a side on an otherwise idle link without loss: the
// time on the line, and a round trip for the acknowledgement.
func (s *Spec) Ideal(from trace.Side, n uint32) vtime.Duration {
	return s.RTT() + s.sends(from).Time(s.QP[from].LineBytes(n))
}

// Flowing reports whether messages differ in size or arrive by the clock, so that each of them is a flow of its own.
func (s *Spec) Flowing() bool {
	return slices.ContainsFunc(s.Loads, func(l Load) bool { return len(l.Sizes) > 0 || l.Offered > 0 || l.Every > 0 })
}

// sends is the rate at which a side can send.
func (s *Spec) sends(side trace.Side) unit.Rate {
	if side == trace.A {
		return s.Link.AB.Rate
	}
	return s.Link.BA.Rate
}

// validate checks the load against the rest of the Spec.
func (l *Load) validate(s *Spec) error {
	switch {
	case l.Count == 0 && s.For == 0:
		return errors.New("load: never ends; give it a count, or the run a duration (run for=10s)")
	case l.Offered > 0 && s.sends(l.Data()) == 0:
		return errors.New("load: offered= is a share of a rate and the link has none; write link rate=10G")
	case l.Offered > 0 && l.Every > 0:
		return errors.New("load: offered= and every= both say when messages arrive; leave one out")
	case l.Offered > 0 && l.Mean() == 0:
		return errors.New("load: messages of no bytes offer no load; write msg=64KiB, or every=1ms instead of offered=")
	case l.Ahead > 0 && (l.Offered > 0 || l.Every > 0):
		return errors.New("load: ahead= and a clock both say when messages are sent; leave one out")
	case l.Ahead > 0 && l.Count > s.answers(l.From)+l.Ahead:
		return errors.New("load: ahead= waits for messages of the other side, and too few of them take a receive; " +
			"raise the count= of its load send")
	case len(l.Sizes) > 0 && (l.Op == engine.OpSend || l.Op == engine.OpSendImm):
		return errors.New("load: sizes that vary need a buffer for the largest in every receive; use write, " +
			"write-imm or read with cdf=")
	}
	return nil
}

// answers returns the number of messages that the loads of the peer of a side have, and that take receives.
func (s *Spec) answers(side trace.Side) (n int) {
	for _, l := range s.Loads {
		if l.From == side || !l.Op.TakesReceive() {
			continue
		}
		if n += l.Count; l.Count == 0 {
			return maxWR
		}
	}
	return n
}

// loadName spells an operation as a load does: "write-imm".
func loadName(op engine.Op) string {
	return strings.ReplaceAll(strings.ToLower(op.String()), "_", "-")
}

// loadOps are the operations of a load; an atomic or an invalidation repeated for ever would measure nothing.
var loadOps = []engine.Op{engine.OpSend, engine.OpSendImm, engine.OpWrite, engine.OpWriteImm, engine.OpRead}

// readLoad requires a size: without one, a load of empty messages would look like a slow link.
func readLoad(s *Spec, st *statement) {
	l := Load{Op: engine.OpWrite, Msg: -1}
	if w, ok := st.word(); ok {
		l.Op = loadOp(st, w)
	}
	st.side("from", &l.From)
	st.size("msg", &l.Msg, maxMessage)
	if v, ok := st.take("cdf"); ok {
		l.readSizes(st, v)
	}
	st.share("offered", &l.Offered)
	st.duration("every", &l.Every)
	whole(st, "ahead", &l.Ahead, 0, maxDepth)
	whole(st, "count", &l.Count, 0, maxWR)
	switch {
	case l.Msg < 0 && len(l.Sizes) == 0:
		st.errorf("msg is missing; write msg=64KiB")
	case l.Msg >= 0 && len(l.Sizes) > 0:
		st.errorf("msg and cdf both say how large messages are; leave one out")
	}
	l.Msg = max(l.Msg, 0)
	s.Loads = append(s.Loads, l)
}

// readSizes reads a distribution of sizes.
func (l *Load) readSizes(st *statement, text string) {
	c, err := workload.ParseCDF(text)
	if err != nil {
		st.errorf("cdf: %v", err)
		return
	}
	if c.Largest() > maxMessage {
		st.errorf("cdf: messages of %s; want %s at most", c.Largest(), unit.Size(maxMessage))
	}
	l.Sizes = c
}

// loadOp finds an operation by its name.
func loadOp(st *statement, w string) engine.Op {
	var known []string
	for _, op := range loadOps {
		if w == loadName(op) {
			return op
		}
		known = append(known, loadName(op))
	}
	st.errorf("unknown operation %.60q; known: %s", w, strings.Join(known, " "))
	return 0
}

// Post is one scripted work request or receive.
type Post struct {
	From    trace.Side
	QP      int // connection
	At      vtime.Duration
	Receive bool // a receive buffer rather than a work request
	WR      engine.WorkRequest
	// LocalOff and RemoteOff are offsets into this QP's regions; BadKey gives a key that names no region.
	LocalOff, RemoteOff int64
	BadKey              bool
}

// maxOffset bounds how far outside its region a post may point on purpose, in bytes.
const maxOffset = 1 << 40

// atomicLen is the number of bytes that every atomic acts on (IBTA 9.4.5).
const atomicLen = 8

// post reads the statement of one work request; its keys are those that its operation has a use for.
func (s *Spec) post(st *statement, op engine.Op) {
	p := Post{WR: engine.WorkRequest{Op: op}}
	readPlace(st, &p)
	switch op {
	case engine.OpSend:
		readImmediate(st, &p.WR, engine.OpSendImm)
		readInvalidate(st, &p.WR)
	case engine.OpWrite:
		readImmediate(st, &p.WR, engine.OpWriteImm)
		readRemote(st, &p)
	case engine.OpRead:
		readRemote(st, &p)
	default:
		readAtomic(st, &p.WR)
		readRemote(st, &p)
	}
	st.choice("solicited", &p.WR.Solicited, "0", "1")
	st.choice("signal", &p.WR.Unsignal, "1", "0")
	s.Posts = append(s.Posts, p)
}

// readReceive reads a receive; B is the side that receives in a one-way workload.
func readReceive(s *Spec, st *statement) {
	p := Post{Receive: true, From: trace.B}
	readPlace(st, &p)
	s.Posts = append(s.Posts, p)
}

// readPlace reads the keys that a post and a receive have in common: side, time, QP, ID and size.
func readPlace(st *statement, p *Post) {
	st.side("from", &p.From)
	st.duration("at", &p.At)
	whole(st, "qp", &p.QP, 0, MaxQPs-1)
	id := int64(0)
	whole(st, "wr", &id, 0, maxWR)
	p.WR.ID = uint64(id)
	whole(st, "local", &p.LocalOff, -maxOffset, maxOffset)
	if p.WR.Op == engine.OpFetchAdd {
		p.WR.Len = atomicLen
		return
	}
	var n unit.Size
	st.size("len", &n, maxMessage)
	p.WR.Len = uint32(n)
}

// readRemote reads where the peer's memory is touched.
func readRemote(st *statement, p *Post) {
	whole(st, "remote", &p.RemoteOff, -maxOffset, maxOffset)
	if v, ok := st.take("rkey"); ok {
		if p.BadKey = v == "bad"; !p.BadKey {
			st.fail("rkey", v, "the only choice is bad; leave it out for the right key")
		}
	}
}

// readImmediate turns the request into with when there is immediate data.
func readImmediate(st *statement, wr *engine.WorkRequest, with engine.Op) {
	if _, ok := st.keys["imm"]; ok {
		wr.Op = with
	}
	whole(st, "imm", &wr.Imm, 0, 1<<32-1)
}

// readInvalidate turns a SEND into one with invalidate when there is a key.
func readInvalidate(st *statement, wr *engine.WorkRequest) {
	if v, ok := st.keys["inv"]; ok {
		if wr.Op != engine.OpSend {
			st.fail("inv", v, "a SEND has an immediate or a key to invalidate; leave one out")
		}
		wr.Op = engine.OpSendInv
	}
	whole(st, "inv", &wr.InvKey, 0, 1<<32-1)
}

// readAtomic takes compare= for a swap only: an add that was meant as a swap should not pass.
func readAtomic(st *statement, wr *engine.WorkRequest) {
	swap := false
	st.choice("op", &swap, "add", "swap")
	st.word64("value", &wr.SwapAdd)
	if swap {
		wr.Op = engine.OpCompareSwap
		st.word64("compare", &wr.Compare)
	}
}

// String prints the post as a statement.
func (p Post) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from=%s at=%s qp=%d wr=%d", p.verb(), p.From, p.At, p.QP, p.WR.ID)
	add := func(wanted bool, format string, v any) {
		if wanted {
			fmt.Fprintf(&b, format, v)
		}
	}
	op := p.WR.Op
	swap := op == engine.OpCompareSwap
	add(!swap && op != engine.OpFetchAdd, " len=%d", p.WR.Len)
	add(p.LocalOff != 0, " local=%d", p.LocalOff)
	add(p.RemoteOff != 0, " remote=%d", p.RemoteOff)
	add(op == engine.OpSendImm || op == engine.OpWriteImm, " imm=%#x", p.WR.Imm)
	add(op == engine.OpSendInv, " inv=%#x", p.WR.InvKey)
	add(swap, " op=%s", "swap")
	add(p.WR.Compare != 0, " compare=%#x", p.WR.Compare)
	add(p.WR.SwapAdd != 0, " value=%#x", p.WR.SwapAdd)
	add(p.BadKey, " rkey=%s", "bad")
	add(p.WR.Solicited, " solicited=%d", 1)
	add(p.WR.Unsignal, " signal=%d", 0)
	return b.String()
}

// verb is the statement's verb that stands for the post.
func (p Post) verb() string {
	switch {
	case p.Receive:
		return "post-receive"
	case p.WR.Op == engine.OpRead:
		return "post-read"
	case p.WR.Op == engine.OpWrite, p.WR.Op == engine.OpWriteImm:
		return "post-write"
	case p.WR.Op == engine.OpCompareSwap, p.WR.Op == engine.OpFetchAdd:
		return "post-atomic"
	}
	return "post-send"
}

// readReport reads the level of the endpoints' reports. More reports cost time and make the trace many times as long.
func readReport(s *Spec, st *statement) {
	w, _ := st.word()
	if w != "detail" && w != "completions" && w != "fuzz" {
		st.errorf("%.60q: want detail, completions or fuzz", w)
	}
	s.Reads = Readings{Detail: w != "completions", Fuzz: w == "fuzz"}
}

// readRun reads the two ends of a run: the one that is wanted, and the one that means failure.
func readRun(s *Spec, st *statement) {
	st.duration("for", &s.For)
	st.duration("limit", &s.Limit)
}
