package datasheet

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// kind is the meaning of a response.
type kind uint8

const (
	positive  kind = iota
	sequence       // a NAK for a sequence error: retransmit from its PSN on
	selective      // a gap, with the packets after it that have arrived
	duplicate      // an acknowledgement that repeats the previous one: TCP's indication of a gap
	notReady       // no receive is posted
	refusal        // a fatal NAK
	data           // of a READ or atomic
	kinds          // how many there are
)

// answer is a response.
type answer struct {
	at    vtime.Time
	kind  kind
	named int64 // the offset of its PSN
	upTo  int64 // everything before it has arrived
	code  uint8 // of notReady
}

// classify determines the kind of a packet. An ACK includes the PSN it names; all others name the PSN that is expected,
// and so acknowledge the PSNs before it (IBTA 9.7.5.1, 9.7.5.2).
func (a *answer) classify(p *roce.Packet) {
	a.upTo = a.named
	switch syn := p.AETH.Syndrome; {
	case p.Opcode.IsReadResponse() || p.Opcode == roce.AtomicAck:
		a.kind, a.upTo = data, a.named+1
	case p.Opcode != roce.Acknowledge:
		a.kind = selective
	case syn.IsACK():
		a.kind, a.upTo = positive, a.named+1
	case syn.IsRNR():
		a.kind, a.code = notReady, syn.Timer()
	case syn == roce.SyndromePSNSeqErr:
		a.kind = sequence
	default:
		a.kind = refusal
	}
}

// missing reports whether the answer indicates a gap.
func (a *answer) missing() bool {
	return a.kind == sequence || a.kind == selective || a.kind == duplicate
}
