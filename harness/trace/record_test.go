package trace

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// A packet that came in another form was damaged if nothing shows that the form is sound; fields that routers change
// are no damage.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		fate Fate
		icrc Integrity
		edit func(p *roce.Packet)
		want bool
	}{
		"another PSN":          {Corrupted, Unchecked, func(p *roce.Packet) { p.PSN++ }, true},
		"other data":           {Corrupted, Unchecked, func(p *roce.Packet) { p.Payload = []byte{7} }, true},
		"another address":      {Corrupted, Unchecked, func(p *roce.Packet) { p.RETH.VA++ }, true},
		"a mark of congestion": {Corrupted, Unchecked, func(p *roce.Packet) { p.FECN = true }, false},
		"a sound ICRC":         {Corrupted, Good, func(p *roce.Packet) { p.PSN++ }, false},
		"changed on purpose":   {Delivered, Unchecked, func(p *roce.Packet) { p.PSN++ }, false},
		"of another transport": {Corrupted, Unchecked, func(p *roce.Packet) { p.Opcode = roce.UDP }, false},
	} {
		r := Record{Fate: c.fate, Packet: roce.Packet{BTH: roce.BTH{Opcode: roce.WriteOnly, PSN: 5}, Payload: []byte{1}}}
		r.Changed = &Change{Packet: r.Packet, ICRC: c.icrc}
		c.edit(&r.Changed.Packet)
		if got := r.Damaged(); got != c.want {
			t.Errorf("%s: damaged is %v, want %v", name, got, c.want)
		}
	}
}
