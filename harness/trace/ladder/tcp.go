package ladder

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// streams holds the state of the TCP connections in a ladder: the start of each direction, to which sequence numbers
// are relative, and the options of its start-up frames, which are needed to read its messages.
type streams map[streamKey]*stream

type streamKey struct {
	conn int
	from trace.Side
}

// stream is one direction of a connection.
type stream struct {
	first   tcp.Seq // sequence number of its SYN
	started bool
	setup   int  // length of its start-up frame in bytes
	markers bool // its sender asked for markers in the other direction
}

// of returns one direction of a connection, and makes it if it is new.
func (s *streams) of(conn int, from trace.Side) *stream {
	if *s == nil {
		*s = streams{}
	}
	k := streamKey{conn, from}
	if (*s)[k] == nil {
		(*s)[k] = &stream{}
	}
	return (*s)[k]
}

// text returns the text of a TCP segment: its flags, its position in the stream relative to the SYN, and the messages
// that it begins with. For a segment that begins inside a message, which a sender that aligns FPDUs never sends, it
// gives only the length.
func (s *streams) text(r *trace.Record, p *roce.Packet) string {
	h, data, err := tcp.Decode(p.Payload)
	if err != nil {
		return string(p.AppendText(nil, roce.TextOptions{Omit: roce.OmitForLadder}))
	}
	own, peer := s.of(r.Conn, r.From), s.of(r.Conn, r.From.Other())
	if h.Flags.Has(tcp.SYN) && !own.started {
		own.first, own.started = h.Seq, true
	}
	words := []string{"TCP"}
	if f := h.Flags &^ (tcp.ACK | tcp.PSH); f != 0 || len(data) == 0 {
		words = append(words, (h.Flags &^ tcp.PSH).String())
	}
	if len(data) == 0 && h.Flags == tcp.ACK {
		return "TCP ACK ack=" + relative(h.Ack, peer)
	}
	words = append(words, "seq="+relative(h.Seq, own))
	if len(data) > 0 {
		words = append(words, "len="+strconv.Itoa(len(data)))
		if own.started {
			words = append(words, own.content(h.Seq.Sub(own.first)-1, data, peer.markers)...)
		}
	}
	return strings.Join(words, " ")
}

// relative returns a sequence number relative to the SYN.
func relative(n tcp.Seq, of *stream) string {
	if !of.started {
		return strconv.FormatUint(uint64(n), 10)
	}
	return "+" + strconv.Itoa(n.Sub(of.first))
}

// maxContent bounds the messages that are named on one line.
const maxContent = 3

// content returns the names of the messages that begin at offset at of the stream.
func (s *stream) content(at int, data []byte, markers bool) (words []string) {
	if f, n, err := mpa.DecodeSetup(data); at == 0 && err == nil && n > 0 {
		s.setup, s.markers = n, f.Markers
		return []string{setupText(&f)}
	}
	if s.setup == 0 || at < s.setup {
		return nil
	}
	d := mpa.DeframerAt(uint64(at-s.setup), markers, false)
	for len(data) > 0 {
		f, rest, err := d.Next(data)
		var seg iwarp.Segment
		if err != nil || f == nil || seg.Decode(f.ULPDU) != nil || seg.DDP != iwarp.Version {
			return words
		}
		if len(words) == maxContent {
			return append(words, "...")
		}
		words = append(words, segmentText(&seg))
		data = rest
	}
	return words
}

// segmentText returns the text of a segment; for a Terminate with layer, type and code of its error.
func segmentText(seg *iwarp.Segment) string {
	text := string(seg.AppendText(nil, false))
	var t iwarp.TerminateBody
	if seg.Opcode == iwarp.Terminate && t.Decode(seg.Payload) == nil {
		text += fmt.Sprintf(" error=%d/%d/%d", t.Layer, t.Type, t.Code)
	}
	return text
}

// setupText returns the text of a start-up frame and its flags.
func setupText(f *mpa.Setup) string {
	text := "MPA_REQ"
	if f.Reply {
		text = "MPA_REP"
	}
	for _, flag := range []struct {
		on   bool
		name string
	}{{f.Markers, " M"}, {f.CRC, " C"}, {f.Reject, " R"}} {
		if flag.on {
			text += flag.name
		}
	}
	return text
}
