package gbn

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A script is a dialogue with one half of a QP, a line per step:
//
//	post ID OP LEN [W] post a work request         recv ID LEN         post a receive
//	< PACKET           the half receives           > PACKET            the half sends exactly this next
//	idle               the half sends nothing      EVENT               the next event, as printed by eventText
//	+100us             time passes, timer called   timer 100us|none    when the timer is due, from now
//	NAME=N             variable of the half        stored N            bytes placed so far
//	word N             the 8 bytes at the target   reject ID OP LEN E  post fails, the error contains E
//
// PSNs are relative, and each script runs at three starts. Events that no line claims fail the script.
type script struct {
	name  string
	qp    func(*engine.QP)
	lines string
}

// starts put the run at zero, across the sign of the serial comparison, and across the wrap.
var starts = []psn.PSN{0, 1<<23 - 2, 1<<24 - 3}

// Addresses of the scripts' memory.
const (
	localVA  = 0x1000
	remoteVA = 0x8000
	bufferVA = 0x4000
	rkey     = 2
)

// actor runs a script.
type actor struct {
	t      *testing.T
	now    vtime.Time
	base   psn.PSN
	req    *Requester
	resp   *Responder
	half   engine.Engine
	mem    memory.Host
	stored int
}

func scriptQP(start psn.PSN) engine.QP {
	return engine.QP{QPN: 1, DestQPN: 2, PD: 7, PKey: roce.DefaultPKey, MTU: 256, SendPSN: start, RecvPSN: start,
		RTO: 100 * vtime.Microsecond, RetryCount: 2, RNRRetry: 1, MinRNRTimer: 12, QueueDepth: 8, ReceiveDepth: 2,
		MaxRdAtomic: 2, MaxDestRd: 2, Access: engine.AllAccess}
}

// play runs scripts against the half that pick returns.
func play(t *testing.T, scripts []script, pick func(*actor) engine.Engine) {
	for _, s := range scripts {
		for _, start := range starts {
			t.Run(fmt.Sprintf("%s/%d", s.name, start), func(t *testing.T) {
				qp := scriptQP(start)
				if s.qp != nil {
					s.qp(&qp)
				}
				a := newActor(t, qp)
				a.half = pick(a)
				for line := range strings.Lines(s.lines) {
					if line = strings.TrimSpace(line); line != "" && !t.Failed() {
						a.step(line)
					}
				}
				if ev, ok := a.half.PollEvent(); ok && !t.Failed() {
					t.Errorf("nobody claims event %s", a.eventText(ev))
				}
			})
		}
	}
}

func newActor(t *testing.T, qp engine.QP) *actor {
	a := &actor{t: t, base: qp.SendPSN}
	for _, r := range []memory.Region{
		{RKey: 1, PD: 7, Base: localVA, Len: 0x3000, Access: engine.LocalWrite},
		{RKey: rkey, PD: 7, Base: remoteVA, Len: 0x2000, Access: engine.AllAccess},
		{RKey: 3, PD: 7, Base: bufferVA, Len: 0x1000, Access: engine.LocalWrite},
		{RKey: 4, PD: 7, Base: 0xC000, Len: 0x100, Access: engine.RemoteRead},
		{RKey: 5, PD: 8, Base: 0xD000, Len: 0x100, Access: engine.AllAccess},
	} {
		r.Bytes = make([]byte, r.Len)
		if err := a.mem.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	a.mem.Watch = func(_ uint64, _ []byte, n int) { a.stored += n }
	var err error
	if a.req, a.resp, err = New(qp, &a.mem); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *actor) step(line string) {
	a.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case verb == "post", verb == "reject":
		a.post(verb, strings.Fields(rest))
	case verb == "recv":
		f := strings.Fields(rest)
		rr := engine.ReceiveRequest{ID: uint64(a.number(f[0])), VA: bufferVA, Len: uint32(a.number(f[1]))}
		if err := a.resp.PostReceive(a.now, rr); err != nil {
			a.t.Errorf("%s: %v", line, err)
		}
	case verb == "<":
		p := a.packet(rest)
		a.half.HandlePacket(a.now, &p)
	case verb == ">", verb == "idle":
		a.transmit(rest)
	case verb[0] == '+':
		d, err := vtime.ParseDuration(verb[1:])
		if err != nil {
			a.t.Fatal(err)
		}
		a.now = a.now.Add(d)
		a.half.HandleTimer(a.now)
	default:
		a.expect(line, verb, rest)
	}
}

// expect compares a variable or output of the half with the line.
func (a *actor) expect(line, verb, rest string) {
	a.t.Helper()
	got := ""
	switch {
	case verb == "timer":
		got = "timer none"
		if at, ok := a.half.PollTimer(); ok {
			got = "timer " + at.Sub(a.now).String()
		}
	case verb == "stored":
		got = fmt.Sprint("stored ", a.stored)
	case verb == "word":
		got = fmt.Sprint("word ", binary.LittleEndian.Uint64(a.mem.Load(uint64(a.target()), 8)))
	case strings.Contains(verb, "="):
		name, _, _ := strings.Cut(verb, "=")
		got = name + "=" + strconv.FormatInt(a.variable(name), 10)
	default:
		got = "no event"
		if ev, ok := a.half.PollEvent(); ok {
			got = a.eventText(ev)
		}
	}
	if got != line {
		a.t.Errorf("got %q, want %q", got, line)
	}
}

func (a *actor) target() int {
	if a.half == engine.Engine(a.req) {
		return localVA
	}
	return remoteVA
}

func (a *actor) variable(name string) int64 {
	for _, v := range a.half.(engine.Inspector).Vars(nil) {
		if v.Name == name && v.IsPSN {
			return int64(psn.PSN(v.Value).Sub(a.base))
		} else if v.Name == name {
			return v.Value
		}
	}
	a.t.Fatalf("no variable %s", name)
	return 0
}

// post parses "ID OP LEN" and, after reject, the text of the error.
func (a *actor) post(verb string, f []string) {
	a.t.Helper()
	wr := engine.WorkRequest{ID: uint64(a.number(f[0])), Len: uint32(a.number(f[2])), LocalVA: localVA,
		RemoteVA: remoteVA,
		RKey:     rkey, Imm: 77, InvKey: 99, Compare: 5, SwapAdd: 6}
	for op := engine.OpSend; op <= engine.OpFetchAdd+1; op++ {
		if op.String() == f[1] {
			wr.Op = op
		}
	}
	rest := strings.Join(f[3:], " ")
	wr.Solicited, wr.Unsignal = rest == "solicited", rest == "unsignalled"
	if rest == "nowhere" {
		wr.LocalVA = 0
	}
	err := a.req.Post(a.now, wr)
	if verb == "post" && err != nil || verb == "reject" && (err == nil || !strings.Contains(err.Error(), rest)) {
		a.t.Errorf("%s %v: %v", verb, f, err)
	}
}

func (a *actor) number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return n
}

// packet parses a packet; "va", "rkey" and "dmalen" are those of the scripts unless the text says otherwise.
func (a *actor) packet(text string) roce.Packet {
	if strings.HasPrefix(text, "WRITE_") || strings.HasPrefix(text, "READ_REQUEST") || strings.HasPrefix(text,
		"FETCH") || strings.HasPrefix(text, "CMP") {
		layout := a.mustParse(text).Opcode.Layout()
		if layout&(roce.LayoutRETH|roce.LayoutAtomicETH) != 0 && !strings.Contains(text, "va=") {
			text += fmt.Sprintf(" va=%#x", remoteVA)
		}
		if layout&(roce.LayoutRETH|roce.LayoutAtomicETH) != 0 && !strings.Contains(text, "rkey=") {
			text += fmt.Sprintf(" rkey=%#x", rkey)
		}
	}
	return a.mustParse(text)
}

func (a *actor) mustParse(text string) roce.Packet {
	p, err := roce.ParsePacketAt(text, a.base)
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

// transmit checks that the next packet is text, or that there is none if text is empty. It compares the headers that a
// ladder shows, and the address and length of READs.
func (a *actor) transmit(text string) {
	a.t.Helper()
	var p roce.Packet
	got := ""
	if a.half.PollTransmit(a.now, &p) {
		omit := roce.AttrQP | roce.AttrPKey | roce.AttrRKey | roce.AttrSwapAdd | roce.AttrCompare
		if !p.Opcode.IsRead() {
			omit |= roce.AttrVA | roce.AttrDMALen
		}
		got = string(p.AppendText(nil, roce.TextOptions{Relative: true, Base: a.base, Omit: omit}))
	}
	if got != text {
		a.t.Errorf("sent %q, want %q", got, text)
	}
}

// eventText returns the text of an event.
func (a *actor) eventText(ev engine.Event) string {
	psn := ev.PSN.Sub(a.base)
	switch ev.Kind {
	case engine.CQE:
		return fmt.Sprintf("CQE %d %s %s psn=%+d", ev.ID, ev.Op, ev.Status, psn)
	case engine.ReceiveCQE:
		return fmt.Sprintf("RECV %d %s %s len=%d imm=%d inv=%d psn=%+d", ev.ID, ev.Op, ev.Status, ev.Len,
			ev.Imm, ev.InvKey, psn)
	case engine.Timeout:
		return fmt.Sprintf("TIMEOUT psn=%+d", psn)
	}
	return fmt.Sprintf("FATAL %s psn=%+d", ev.Status, psn)
}
