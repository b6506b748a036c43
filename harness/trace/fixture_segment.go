package trace

import (
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// segment reads an iWARP segment, which stands for the whole datagram that carries it: "WREC msg=0 off=0 mlen=8 len=8 L".
// Beside the words of package iwarp there are crc=bad, ipid=, sport= and dport=. The payload is a function of connection,
// message and place, so that copies carry the same bytes.
func (p *fixtureParser) segment(r *Record, t *packetText, into *roce.Packet) error {
	var frame frameWords
	if err := frame.read(t.frame); err != nil {
		return err
	}
	var words []string
	bad, id := false, uint64(0)
	for _, w := range t.packet {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case w == "crc=bad":
			bad = true
		case key == "ipid":
			n, err := strconv.ParseUint(value, 10, 16)
			if err != nil {
				return err
			}
			id = n
		default:
			words = append(words, w)
		}
	}
	s, err := iwarp.Parse(strings.Join(words, " "))
	if err != nil {
		return err
	}
	s.Payload = pattern(len(s.Payload), r.Conn, int(s.MO+s.Record.Off+s.MSN+s.Record.ID), frame.fill)
	from, to := iwarp.PortOf(p.f.Header.Conns[r.Conn].Ends[r.From].QP.QPN), uint16(iwarp.Port)
	if frame.sport != nil {
		from = uint16(*frame.sport)
	}
	if frame.dport != nil {
		to = uint16(*frame.dport)
	}
	b := iwarp.AppendDatagram(nil, from, to, &s)
	if bad {
		b[len(b)-1] ^= 1
	}
	*into = roce.Packet{Payload: b, Len: len(b), IP: roce.IP{ID: uint16(id)}}
	into.Opcode = roce.UDP
	return nil
}
