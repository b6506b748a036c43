package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
)

// fixtureStream is one direction of a TCP connection as a fixture writes it: the parser counts its bytes, so that a line says
// only what a segment carries.
type fixtureStream struct {
	next   tcp.Seq // of the next byte
	known  bool    // the SYN has been written
	setup  mpa.Setup
	framer mpa.Framer
	begun  bool
	data   []fixtureData
}

// fixtureWay names one direction of a connection.
type fixtureWay struct {
	conn int
	from Side
}

// fixtureData is a segment with data that can be sent again.
type fixtureData struct {
	seq  tcp.Seq
	data []byte
}

// tcpSegment reads "TCP SYN", "TCP SYN,ACK", "TCP ACK", "TCP FIN,ACK", "TCP RST"; "TCP REQ M C" and "TCP REP M C", the
// start-up frames of MPA; "TCP AGAIN 2", which repeats the second segment with data of its direction; and "TCP WRITE …", a
// segment with one FPDU, whose words are those of package iwarp, body= in hexadecimal, crc=bad and marker=bad.
func (p *fixtureParser) tcpSegment(r *Record, t *packetText, into *roce.Packet) error {
	own, peer := p.stream(r.Conn, r.From), p.stream(r.Conn, r.From.Other())
	c := &p.f.Header.Conns[r.Conn]
	h := tcp.Header{SrcPort: iwarp.Port, DstPort: iwarp.PortOf(c.Ends[r.From.Other()].QP.QPN), Flags: tcp.ACK, Window: 0xFFFF, Ack: peer.next}
	if r.From == A {
		h.SrcPort, h.DstPort = iwarp.PortOf(c.Ends[A].QP.QPN), iwarp.Port
	}
	if !own.known {
		own.next, own.known = tcp.Seq(c.Ends[r.From].QP.SendPSN<<8), true
	}
	h.Seq = own.next
	data, err := own.content(&h, t.packet[1:], peer)
	if err != nil {
		return err
	}
	if h.Seq == own.next {
		own.next = own.next.Add(h.Span(len(data)))
	}
	b := make([]byte, h.Len(), h.Len()+len(data))
	h.Put(b)
	*into = roce.Packet{Payload: append(b, data...), Len: len(b) + len(data)}
	into.Opcode = roce.TCP
	return nil
}

// stream returns one direction of a connection.
func (p *fixtureParser) stream(conn int, from Side) *fixtureStream {
	k := fixtureWay{conn, from}
	if p.streams == nil {
		p.streams = map[fixtureWay]*fixtureStream{}
	}
	if p.streams[k] == nil {
		p.streams[k] = &fixtureStream{}
	}
	return p.streams[k]
}

// content makes the data of a segment and sets its flags.
func (s *fixtureStream) content(h *tcp.Header, words []string, peer *fixtureStream) ([]byte, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("TCP: want flags, REQ, REP, AGAIN or an opcode of iWARP")
	}
	switch w := words[0]; w {
	case "REQ", "REP":
		has := " " + strings.Join(words[1:], " ") + " "
		s.setup = mpa.Setup{Reply: w == "REP", Markers: strings.Contains(has, " M "), CRC: strings.Contains(has, " C "),
			Reject: strings.Contains(has, " R "), Revision: mpa.Revision}
		return s.keep(h, s.setup.Append(nil)), nil
	case "AGAIN":
		n, err := strconv.Atoi(strings.Join(words[1:], ""))
		if err != nil || n < 1 || n > len(s.data) {
			return nil, fmt.Errorf("TCP AGAIN: want the number of a segment with data, 1 to %d", len(s.data))
		}
		h.Seq = s.data[n-1].seq
		return s.data[n-1].data, nil
	}
	if _, ok := iwarp.ParseOpcode(words[0]); ok {
		data, err := s.frame(words, peer)
		return s.keep(h, data), err
	}
	return nil, setFlags(h, words)
}

// keep remembers a segment with data.
func (s *fixtureStream) keep(h *tcp.Header, data []byte) []byte {
	s.data = append(s.data, fixtureData{h.Seq, data})
	return data
}

// frame makes the FPDU of a segment's text.
func (s *fixtureStream) frame(words []string, peer *fixtureStream) ([]byte, error) {
	var text []string
	var body []byte
	bad := map[string]bool{}
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); {
		case w == "crc=bad", w == "marker=bad":
			bad[key] = true
		case key == "body":
			if _, err := fmt.Sscanf(value, "%x", &body); err != nil {
				return nil, fmt.Errorf("%s: want hexadecimal digits", w)
			}
		default:
			text = append(text, w)
		}
	}
	seg, err := iwarp.Parse(strings.Join(text, " "))
	if err != nil {
		return nil, err
	}
	seg.Payload = pattern(len(seg.Payload), 0, len(s.data), 0)
	if body != nil {
		seg.Payload = body
	}
	if !s.begun {
		s.begun, s.framer = true, mpa.Framer{Markers: peer.setup.Markers, CRC: s.setup.CRC || peer.setup.CRC}
	}
	b := s.framer.Append(nil, seg.AppendHeader(nil), seg.Payload)
	if bad["crc"] {
		b[len(b)-1] ^= 1
	}
	if bad["marker"] {
		b[mpa.MarkerLen-1] ^= 4 // of one that stands before the FPDU
	}
	return b, nil
}

// setFlags reads "SYN,ACK".
func setFlags(h *tcp.Header, words []string) error {
	h.Flags = 0
	for _, name := range strings.Split(words[0], ",") {
		known := false
		for f := tcp.FIN; f <= tcp.ACK; f <<= 1 {
			if f.String() == name {
				h.Flags, known = h.Flags|f, true
			}
		}
		if !known || len(words) > 1 {
			return fmt.Errorf("TCP %s: want flags such as SYN,ACK, or REQ, REP, AGAIN or an opcode of iWARP", strings.Join(words, " "))
		}
	}
	return nil
}
