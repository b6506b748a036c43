package scenario

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Bounds of a Spec. They keep a mistyped number from filling a machine.
const (
	maxLines   = 10000
	maxLine    = 4096
	maxMessage = 1 * unit.GiB
	maxDepth   = 65536
)

// ReadFile parses a Spec file; errors begin with the file's name and the line.
func ReadFile(path string) (*Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return s, nil
}

// Parse reads a whole Spec. Every error is one line that names the line, the field and the remedy.
func Parse(r io.Reader) (*Spec, error) {
	s := Default()
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	n := 0
	for in.Scan() {
		if n++; n > maxLines {
			return nil, fmt.Errorf("%d: more than %d lines", n, maxLines)
		}
		if err := s.Line(in.Text()); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%d: %w (a line holds %d bytes at most)", n+1, err, maxLine)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%d: %w", n, err)
	}
	return s, nil
}

// Line applies one line of scenario text to the Spec. Empty lines do nothing; a comment is kept as the title as long as
// no statement has been read.
func (s *Spec) Line(line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case line[0] == '#':
		s.Title = append(s.Title, strings.TrimSpace(line[1:]))
		return nil
	}
	st := newStatement(line)
	read, ok := verbs[st.verb]
	if !ok {
		return fmt.Errorf("unknown verb %q; known: %s", st.verb, verbList)
	}
	if err := read(s, &st, line); err != nil {
		return err
	}
	return st.done()
}

const verbList = "seed impl param link loss drop dup delay reorder corrupt rewrite mark inject qp load post-write " +
	"post-send post-read post-atomic post-receive report run"

// verbs is the whole language. Readers take what they know from the statement; Line reports what is left over.
var verbs = map[string]func(*Spec, *statement, string) error{
	"seed":         readSeed,
	"impl":         readImpl,
	"param":        readParam,
	"link":         readLink,
	"loss":         readLoss,
	"drop":         readFault,
	"dup":          readFault,
	"delay":        readFault,
	"reorder":      readFault,
	"corrupt":      readFault,
	"rewrite":      readFault,
	"mark":         readFault,
	"inject":       readInjection,
	"qp":           readQP,
	"load":         readLoad,
	"post-write":   postReader(engine.OpWrite, engine.OpWriteImm),
	"post-send":    postReader(engine.OpSend, engine.OpSendImm),
	"post-read":    postReader(engine.OpRead, engine.OpRead),
	"post-atomic":  postReader(engine.OpFetchAdd, engine.OpFetchAdd),
	"post-receive": readReceive,
	"report":       readReport,
	"run":          readRun,
}

func readSeed(s *Spec, st *statement, _ string) error {
	if len(st.words) != 1 {
		return errors.New("seed: want one number")
	}
	x, err := strconv.ParseUint(st.words[0], 0, 64)
	if err != nil {
		return fmt.Errorf("seed %q: want a whole number below 2^64", st.words[0])
	}
	s.Seed, st.words = x, nil
	return nil
}

func readImpl(s *Spec, st *statement, _ string) error {
	switch len(st.words) {
	case 1:
		s.Impl = [2]string{st.words[0], st.words[0]}
	case 2:
		s.Impl = [2]string{st.words[0], st.words[1]}
	default:
		return errors.New("impl: want one name, or two for A and B")
	}
	st.words = nil
	return nil
}

func readParam(s *Spec, st *statement, _ string) error {
	if s.Params == nil {
		s.Params = engine.Params{}
	}
	for k, v := range st.keys {
		s.Params[k] = v
	}
	clear(st.keys)
	return nil
}

// directions takes an optional leading "A>B" or "B>A" and returns the links that the statement is about.
func (s *Spec) directions(st *statement) []*spec.Link {
	if len(st.words) > 0 {
		switch st.words[0] {
		case "A>B":
			st.words = st.words[1:]
			return []*spec.Link{&s.Link.AB}
		case "B>A":
			st.words = st.words[1:]
			return []*spec.Link{&s.Link.BA}
		}
	}
	return []*spec.Link{&s.Link.AB, &s.Link.BA}
}

// readLink changes the fields that the statement names and keeps the others.
func readLink(s *Spec, st *statement, _ string) error {
	for _, l := range s.directions(st) {
		next, err := spec.ParseLink(merge(l.String(), st))
		if err != nil {
			return err
		}
		next.Loss, *l = l.Loss, next
	}
	clear(st.keys)
	return nil
}

// merge puts the words of a statement after those words of old that it does not override.
func merge(old string, st *statement) string {
	var words []string
	for _, w := range strings.Fields(old) {
		k, _, _ := strings.Cut(w, "=")
		if _, given := st.keys[k]; !given {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ") + " " + st.rest()
}

func readLoss(s *Spec, st *statement, _ string) error {
	links := s.directions(st)
	text := strings.TrimSpace(strings.Join(st.words, " ") + " " + st.rest())
	loss, err := spec.ParseLoss(text)
	if err != nil {
		return err
	}
	for _, l := range links {
		l.Loss = loss
	}
	st.words = nil
	clear(st.keys)
	return nil
}

func readFault(s *Spec, st *statement, line string) error {
	f, err := fault.Parse(line)
	if err != nil {
		return err
	}
	s.Faults = append(s.Faults, f)
	st.words = nil
	clear(st.keys)
	return nil
}

// readInjection reads "inject B at=10us cut=20 icrc=bad set=tver:1 : PACKET", where PACKET is roce's one-line form.
func readInjection(s *Spec, st *statement, line string) error {
	head, packet, ok := strings.Cut(line, " : ")
	if !ok {
		return errors.New(`inject: no packet; want "inject B at=10us : WRITE_ONLY psn=+3 len=8"`)
	}
	if _, err := roce.ParsePacketAt(packet, 0); err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	*st = newStatement(head)
	in := Injection{Packet: strings.TrimSpace(packet)}
	if len(st.words) != 1 {
		return errors.New("inject: name the side that receives it, A or B")
	}
	side, err := parseSide(st.words[0])
	if err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	in.To, st.words = side, nil
	st.duration("at", &in.At)
	bounded(st, "qp", &in.QP, 0, MaxQPs-1)
	bounded(st, "cut", &in.Cut, 1, 65535)
	if v, ok := st.take("icrc"); ok {
		in.BadCRC = v == "bad"
		if v != "bad" && v != "good" {
			st.fail("icrc", v, "want good or bad")
		}
	}
	if v, ok := st.take("set"); ok {
		if in.Raw, err = parseEdits(v); err != nil {
			return fmt.Errorf("inject: %w", err)
		}
	}
	s.Injections = append(s.Injections, in)
	return nil
}

// parseEdits reads "ttl:3,udplen:40".
func parseEdits(v string) ([]Edit, error) {
	var edits []Edit
	for _, w := range strings.Split(v, ",") {
		field, num, _ := strings.Cut(w, ":")
		x, err := strconv.ParseUint(num, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("set=%s: want field:number, such as ttl:3", w)
		}
		edits = append(edits, Edit{Field: field, Value: x})
	}
	return edits, nil
}

func readLoad(s *Spec, st *statement, _ string) error {
	l := Load{Op: engine.OpWrite}
	if len(st.words) > 0 {
		op, ok := loadOps[st.words[0]]
		if !ok {
			return fmt.Errorf("load: unknown operation %q; known: send send-imm write write-imm read", st.words[0])
		}
		l.Op, st.words = op, st.words[1:]
	}
	st.side("from", &l.From)
	st.size("msg", &l.Msg, maxMessage)
	bounded(st, "count", &l.Count, 0, 1<<40)
	s.Loads = append(s.Loads, l)
	return nil
}

var loadOps = map[string]engine.Op{"send": engine.OpSend, "send-imm": engine.OpSendImm, "write": engine.OpWrite,
	"write-imm": engine.OpWriteImm, "read": engine.OpRead}

func readReport(s *Spec, st *statement, _ string) error {
	if len(st.words) != 1 || st.words[0] != "detail" && st.words[0] != "completions" {
		return errors.New("report: want detail or completions")
	}
	s.Reads.Detail, st.words = st.words[0] == "detail", nil
	return nil
}

func readRun(s *Spec, st *statement, _ string) error {
	st.duration("for", &s.For)
	st.duration("limit", &s.Limit)
	return nil
}

// postReader reads the statement of one work request; plain is the operation, imm the one that imm= turns it into.
func postReader(plain, imm engine.Op) func(*Spec, *statement, string) error {
	return func(s *Spec, st *statement, _ string) error {
		p := Post{WR: engine.WorkRequest{Op: plain}}
		if v, ok := st.take("op"); ok && plain == engine.OpFetchAdd {
			switch v {
			case "add":
			case "swap":
				p.WR.Op = engine.OpCompareSwap
			default:
				st.fail("op", v, "want add or swap")
			}
		}
		readPlace(st, &p)
		readWork(st, &p, imm)
		s.Posts = append(s.Posts, p)
		return nil
	}
}

// readPlace reads what a post and a receive have in common: who, when, where.
func readPlace(st *statement, p *Post) {
	st.side("from", &p.From)
	st.duration("at", &p.At)
	bounded(st, "qp", &p.QP, 0, MaxQPs-1)
	bounded(st, "wr", &p.WR.ID, 0, 1<<62)
	n := unit.Size(p.WR.Len)
	if p.WR.Op == engine.OpCompareSwap || p.WR.Op == engine.OpFetchAdd {
		n = 8
	}
	st.size("len", &n, maxMessage)
	p.WR.Len = uint32(n)
	bounded(st, "local", &p.LocalOff, -1<<40, 1<<40)
}

func readWork(st *statement, p *Post, imm engine.Op) {
	bounded(st, "remote", &p.RemoteOff, -1<<40, 1<<40)
	if _, ok := st.keys["imm"]; ok {
		p.WR.Op = imm
	}
	bounded(st, "imm", &p.WR.Imm, 0, 1<<32-1)
	if _, ok := st.keys["inv"]; ok && p.WR.Op == engine.OpSend {
		p.WR.Op = engine.OpSendInv
	}
	bounded(st, "inv", &p.WR.InvKey, 0, 1<<32-1)
	bounded(st, "compare", &p.WR.Compare, 0, 1<<62)
	bounded(st, "value", &p.WR.SwapAdd, 0, 1<<62)
	if v, ok := st.take("rkey"); ok {
		if p.BadKey = v == "bad"; !p.BadKey {
			st.fail("rkey", v, "the only choice is bad; leave it out for the right key")
		}
	}
	if v, ok := st.take("solicited"); ok {
		p.WR.Solicited = v == "1"
	}
	if v, ok := st.take("signal"); ok {
		p.WR.Unsignal = v == "0"
	}
}

func readReceive(s *Spec, st *statement, _ string) error {
	p := Post{Receive: true, From: trace.B}
	readPlace(st, &p)
	s.Posts = append(s.Posts, p)
	return nil
}

// readQP reads the attributes of both ends, or of one when the first word is A or B.
func readQP(s *Spec, st *statement, _ string) error {
	sides := []trace.Side{trace.A, trace.B}
	if len(st.words) > 0 {
		side, err := parseSide(st.words[0])
		if err != nil {
			return fmt.Errorf("qp: %w", err)
		}
		sides, st.words = []trace.Side{side}, st.words[1:]
	}
	given := make(map[string]string, len(st.keys))
	for k, v := range st.keys {
		given[k] = v
	}
	for _, side := range sides {
		for k, v := range given {
			st.keys[k] = v
		}
		readAttributes(st, &s.QP[side])
		readShared(s, st, side)
	}
	return nil
}

// readShared reads the keys of a qp statement that are not attributes of one end.
func readShared(s *Spec, st *statement, side trace.Side) {
	bounded(st, "count", &s.QPs, 1, MaxQPs)
	bounded(st, "receives", &s.Receives, 0, maxDepth)
	st.size("receive-len", &s.ReceiveLen, maxMessage)
	if v, ok := st.take("replenish"); ok {
		s.Replenish = v == "1"
	}
	if _, ok := st.keys["start"]; ok {
		var start psn.PSN
		bounded(st, "start", &start, 0, psn.Mask)
		s.QP[side].SendPSN, s.QP[side.Other()].RecvPSN = start, start
	}
	st.asked = append(st.asked, "start")
}

func readAttributes(st *statement, q *engine.QP) {
	bounded(st, "mtu", &q.MTU, 256, 4096)
	if q.MTU&(q.MTU-1) != 0 {
		st.fail("mtu", strconv.Itoa(q.MTU), "want 256, 512, 1024, 2048 or 4096")
	}
	bounded(st, "timeout", &q.Timeout, 0, 31)
	st.duration("rto", &q.RTO)
	bounded(st, "retry", &q.RetryCount, 0, 7)
	bounded(st, "rnr", &q.RNRRetry, 0, 7)
	bounded(st, "min-rnr", &q.MinRNRTimer, 0, 31)
	bounded(st, "qd", &q.QueueDepth, 1, maxDepth)
	bounded(st, "cqmod", &q.CQModeration, 0, maxDepth)
	bounded(st, "ackreq", &q.AckReqEvery, 0, maxDepth)
	bounded(st, "coalesce", &q.AckCoalesce, 0, maxDepth)
	bounded(st, "rd", &q.MaxRdAtomic, 0, 255)
	bounded(st, "dest-rd", &q.MaxDestRd, 0, 255)
	bounded(st, "pkey", &q.PKey, 0, 0xFFFF)
	if v, ok := st.take("access"); ok {
		readAccess(st, q, v)
	}
}

var accessLetters = map[rune]engine.Access{'w': engine.RemoteWrite, 'r': engine.RemoteRead, 'a': engine.RemoteAtomic}

// readAccess reads the operations that an end allows, "wra" in any order, or "none".
func readAccess(st *statement, q *engine.QP, v string) {
	q.Access = engine.LocalWrite
	if v == "none" {
		return
	}
	for _, c := range v {
		right, ok := accessLetters[c]
		if !ok {
			st.fail("access", v, "want letters of wra (write, read, atomic), or none")
		}
		q.Access |= right
	}
}

// Default is the Spec before any line: perftest's attributes on an unimpaired, unlimited link.
func Default() *Spec {
	q := engine.QP{
		PKey: roce.DefaultPKey, MTU: 1024, Timeout: 14, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 12,
		QueueDepth: 128, ReceiveDepth: 512, AckReqEvery: 64, MaxRdAtomic: 16, MaxDestRd: 16, Access: engine.AllAccess,
	}
	link := spec.Link{Queue: 1000}
	return &Spec{
		Seed: 1, Impl: [2]string{"gbn", "gbn"}, QP: [2]engine.QP{q, q}, QPs: 1, Receives: 512, Replenish: true,
		Link: spec.Duplex{AB: link, BA: link}, Limit: 3600 * vtime.Second,
	}
}
