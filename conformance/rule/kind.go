package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Kind is what is special about a sight of requests and responses: a set of these, empty where nothing is.
type Kind uint8

// The kinds. What belongs to no half-conversation, and what is not of the RC class, is of every kind.
const (
	Odd     Kind = 1 << iota // its receiver cannot use it, or it is not as its sender sent it
	Faulty                   // its turn has come, and it is illegal
	Early                    // it came before its turn
	Late                     // it was there before
	Asking                   // a NAK of any kind
	Fetch                    // of a READ or atomic
	Empty                    // a request of no bytes that names memory
	AnyKind = Odd | Faulty | Early | Late | Asking | Fetch | Empty
)

// kindOf returns what is special about a sight.
func kindOf(s *Sight) (k Kind) {
	p := s.Pkt
	o := p.Opcode
	if o.Class() != roce.ClassRC {
		return AnyKind
	}
	if s.Relation == Unrelated && s.Point == trace.ResponderIn || p.TVer != 0 || s.Rec.Changed != nil || s.Rec.Fate == trace.Injected || !s.Intact() {
		k |= Odd
	}
	switch s.Relation {
	case Ahead:
		k |= Early
	case Duplicate, Again:
		k |= Late
	case InOrder, Released:
		if !s.Legal {
			k |= Faulty
		}
	}
	switch {
	case o == roce.Acknowledge && !p.AETH.Syndrome.IsACK():
		k |= Asking
	case o.IsRead(), o.IsAtomic(), o.IsReadResponse(), o == roce.AtomicAck:
		k |= Fetch
	}
	if p.RETH.DMALen == 0 && o.Layout()&roce.LayoutRETH != 0 {
		k |= Empty
	}
	return k
}
