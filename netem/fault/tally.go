package fault

// MaxTracked bounds the packets whose transmissions a Tally remembers: four times the bandwidth-delay product of 10
// Gb/s at 400 ms and 4 KiB packets. It is below 2^23, so that a PSN that recurs after a wrap counts as a new packet.
const MaxTracked = 1 << 19

// Tally counts the transmissions of packets. Its memory is bounded: when it is full, the packet seen first is
// forgotten. The zero value is ready.
type Tally struct {
	count     map[packet]int
	order     []packet // ring of the packets in count, oldest at head once it is full
	head      int
	forgotten int
}

type packet struct {
	from Side
	qp   int
	psn  uint32
	kind string
}

// Next counts one more transmission of the packet and returns its number, 1 for the first.
func (t *Tally) Next(from Side, qp int, psn uint32, kind string) int {
	p := packet{from, qp, psn, kind}
	if n := t.count[p]; n > 0 {
		t.count[p] = n + 1
		return n + 1
	}
	t.remember(p)
	return 1
}

// Forgotten returns how many packets were removed to make room for others.
func (t *Tally) Forgotten() int { return t.forgotten }

func (t *Tally) remember(p packet) {
	if t.count == nil {
		t.count = make(map[packet]int)
	}
	if len(t.order) < MaxTracked {
		t.order = append(t.order, p)
	} else {
		delete(t.count, t.order[t.head])
		t.order[t.head] = p
		t.head = (t.head + 1) % MaxTracked
		t.forgotten++
	}
	t.count[p] = 1
}
