package capture

import (
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// note is the comment of a frame in a capture that this package wrote. It holds the fields of the record that the frame
// does not, so that Reunite can restore the record. Its text is "#17 out delivered sent=88000 recv=5088000"; times are
// in picoseconds.
type note struct {
	index      uint64
	out        bool
	fate       trace.Fate
	sent, recv vtime.Time
	conn       int
	wire       int
	changed    bool // the bytes differed at the other tap
	copied     bool
	cause      string
}

// appendNote writes the comment of a sight.
func appendNote(b []byte, s *trace.Sight) []byte {
	r := s.Rec
	b = strconv.AppendUint(append(b, '#'), s.Index, 10)
	if s.Out {
		b = append(b, " out "...)
	} else {
		b = append(b, " in "...)
	}
	b = append(b, r.Fate.String()...)
	b = appendMoment(append(b, " sent="...), r.Sent)
	b = appendMoment(append(b, " recv="...), r.Recv)
	b = strconv.AppendInt(append(b, " conn="...), int64(r.Conn), 10)
	b = strconv.AppendInt(append(b, " wire="...), int64(r.WireBytes), 10)
	if r.Changed != nil {
		b = append(b, " changed"...)
	}
	if r.Copy {
		b = append(b, " copy"...)
	}
	if r.Cause != "" {
		// The cause is last, because it may be any text.
		b = append(append(b, " cause="...), r.Cause...)
	}
	return b
}

// appendMoment writes a time, or a dash for Never.
func appendMoment(b []byte, t vtime.Time) []byte {
	if t == vtime.Never {
		return append(b, '-')
	}
	return strconv.AppendInt(b, int64(t), 10)
}

// parseNote parses the comment of a frame; ok is false for comments of other programs.
func parseNote(text string) (n note, ok bool) {
	rest, ok := strings.CutPrefix(text, "#")
	if !ok {
		return n, false
	}
	rest, n.cause, _ = strings.Cut(rest, " cause=")
	words := strings.Split(rest, " ")
	if len(words) < 5 {
		return n, false
	}
	var err error
	if n.index, err = strconv.ParseUint(words[0], 10, 63); err != nil {
		return n, false
	}
	n.out = words[1] == "out"
	n.fate, ok = trace.ParseFate(words[2])
	for _, w := range words[3:] {
		ok = n.word(w) && ok
	}
	return n, ok && (n.out || words[1] == "in")
}

// word parses one word of a note; ok is false for an unknown word, since the comment is then of another program.
func (n *note) word(w string) (ok bool) {
	key, value, _ := strings.Cut(w, "=")
	switch key {
	case "sent":
		n.sent, ok = parseMoment(value)
	case "recv":
		n.recv, ok = parseMoment(value)
	case "conn":
		var err error
		n.conn, err = strconv.Atoi(value)
		ok = err == nil && n.conn >= -1
	case "wire":
		var err error
		n.wire, err = strconv.Atoi(value)
		ok = err == nil
	case "changed":
		n.changed, ok = true, true
	case "copy":
		n.copied, ok = true, true
	}
	return ok
}

// parseMoment parses the text of appendMoment.
func parseMoment(s string) (vtime.Time, bool) {
	if s == "-" {
		return vtime.Never, true
	}
	t, err := strconv.ParseInt(s, 10, 64)
	return vtime.Time(t), err == nil && t >= 0
}

// at is the time of the frame that carries the note.
func (n *note) at() vtime.Time {
	if n.out {
		return n.sent
	}
	return n.recv
}
