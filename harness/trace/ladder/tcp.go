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

// streams is what a ladder knows of the TCP connections it has seen: where each direction began, which makes its
// numbers relative, and what its start-up frames said, which makes its messages readable.
type streams map[streamKey]*stream

type streamKey struct {
	conn int
	from trace.Side
}

// stream is one direction of a connection.
type stream struct {
	first   tcp.Seq // of its SYN
	started bool
	setup   int  // bytes of its start-up frame
	markers bool // its sender asked for markers in the other direction
}

// of returns one direction, which is made when it is new.
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

// text draws a TCP segment: its flags, its place in the stream counted from the SYN, and the messages that it begins
// with. A segment that begins inside a message, which a sender that aligns FPDUs never sends, shows its length alone.
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

// relative counts from the SYN.
func relative(n tcp.Seq, of *stream) string {
	if !of.started {
		return strconv.FormatUint(uint64(n), 10)
	}
	return "+" + strconv.Itoa(n.Sub(of.first))
}

// maxContent bounds the messages that are named on one line.
const maxContent = 3

// content names what begins at offset at of the stream.
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

// segmentText draws a segment; of a Terminate its error too, layer, type and code.
func segmentText(seg *iwarp.Segment) string {
	text := string(seg.AppendText(nil, false))
	var t iwarp.TerminateBody
	if seg.Opcode == iwarp.Terminate && t.Decode(seg.Payload) == nil {
		text += fmt.Sprintf(" error=%d/%d/%d", t.Layer, t.Type, t.Code)
	}
	return text
}

// setupText draws a start-up frame and its flags.
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
