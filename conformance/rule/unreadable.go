package rule

import "github.com/rdma-gauntlet/gauntlet/harness/trace"

// This file tracks frames that left the port of their sender and cannot be read: they do not decode, or their ICRC is
// wrong. What such a frame was meant to be is unknown. It may have been a request, so that the numbers and the order of
// the others prove nothing, or the answer that is owed. Rules of single frames find the frame itself.

// unreadable holds the ends that have sent such frames, by connection and side. Frames that belong to no connection are
// under -1, and may have been of any; in a capture of another program, where the ends of one connection are not those
// of another, they are left out. The zero value is that of no such frame.
type unreadable struct {
	sent   map[int]*[2]bool // by connection and side
	latest uint64           // record of the latest; valid when sent is not empty
}

// unreadWhy is the reason why a finding against the sender of unreadable frames proves nothing.
const unreadWhy = "this end sent frames that cannot be read, and what they were meant to be is unknown"

// sight records a sight of a frame that its sender made unreadable.
func (u *unreadable) sight(h *trace.Header, t *trace.Sight) {
	r := t.Rec
	readable := r.Defect == "" && (t.ICRC != trace.Bad || h.Inferred)
	if !t.Out || readable || r.Fate == trace.Injected || h.Between || r.Packet.Opcode.OverIP() ||
		r.Conn < 0 && h.Bench == trace.FileBench {
		return
	}
	if u.sent == nil {
		u.sent = map[int]*[2]bool{}
	}
	conn := max(r.Conn, -1)
	if u.sent[conn] == nil {
		u.sent[conn] = new([2]bool)
	}
	u.sent[conn][r.From&1], u.latest = true, t.Index
}

// spoilt reports whether an end has sent frames that cannot be read, so that a finding against it, shown by a record,
// proves nothing. A finding that is shown by such a frame is about the frame.
func spoilt(c *Context, who Blame, record uint64) bool {
	u := &c.judge.unreadable
	if u.sent == nil || c.Index < 0 || who != Requester && who != Responder || record == u.latest {
		return false
	}
	side := sideOf(c.Conversation, who)
	of, any := u.sent[c.Index], u.sent[-1]
	return of != nil && of[side&1] || any != nil && any[side&1]
}
