package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// encoder makes the repair packets of one stream: the requests of a requester, or the READ responses of a responder. It
// keeps sums and never a packet: "XOR-based code stores only the intermediate value in computation due to its
// associative nature" (III). Repair packets have no PSN, are not acknowledged and are not sent again, so the transport
// above needs no window, timer or memory for them.
type encoder struct {
	host   *Host
	destQP uint32
	k      bool // the stream consists of READ responses
	size   int  // bytes of a coding unit
	code   code // (r, c) of the current block

	// The block that is being sent: the n packets from base on. It is open while n > 0; n < r.
	base    psn.PSN
	n       int
	next    psn.PSN     // PSN after the last packet coded
	first   bool        // has_First: the block begins with the first packet of its message
	bare    bool        // no unit was free, so that the block has no repair packets
	units   []int32     // units[j] is the index of e_j in the Encoding Buffer
	emitted []int32     // units of the last ended block whose repair packets wait for the link, in order of sending
	header  roce.Repair // header of the next repair packet

	want  code  // (r, c) that the peer asked for last; applies to the next block
	epoch uint8 // generation of code; incremented by every change

	blocks, repairs, unprotected, discarded int64
}

func newEncoder(h *Host, destQP uint32, k bool, mtu int) encoder {
	return encoder{host: h, destQP: destQP, k: k, size: unitSize(mtu), code: h.cfg.send, want: h.cfg.send,
		units: make([]int32, 0, maxC), emitted: make([]int32, 0, maxC)}
}

// packet codes a packet that is about to be sent: "for any outgoing data packet, the Encoding Controller selects its
// coding unit based on its QPN and PSN (1). Then, the outgoing data packet performs XOR calculation with this coding
// unit and updates it with the result (2). If a packet ends its corresponding message or coding block, all encoded
// coding units of this coding block are then encapsulated and sent as repair packets (3)." (IV-B2)
func (e *encoder) packet(p *roce.Packet) {
	// Not in the paper: a packet that does not follow the last one is a retransmission. The receiver no longer tracks
	// the open block, so the block is discarded, and another begins here.
	if e.n > 0 && (p.PSN != e.next || p.Opcode.StartsMessage()) {
		e.discard()
	}
	if e.n == 0 {
		e.begin(p)
	}
	raw := e.host.image(p)
	if !e.bare {
		e.host.encoding.all[e.units[e.n%e.code.c]].add(raw)
	}
	e.n, e.next = e.n+1, p.PSN.Next()
	if ends := p.Opcode.EndsMessage(); ends || e.n == e.code.r {
		e.end(ends, len(raw))
	}
}

// begin opens a block with its first packet: "each message begins its own encoding and decoding cycle" (IV-B1). A
// message of one packet needs one unit. All units are bound at once, so that a block is protected as a whole or not at
// all; the receiver could not distinguish a lost repair packet from one that was never sent.
func (e *encoder) begin(p *roce.Packet) {
	n := e.code.c
	if p.Opcode.IsOnly() {
		n = 1
	}
	bound := false
	e.units, bound = e.host.encoding.bind(e.units[:0], n, e.size)
	e.base, e.first, e.bare = p.PSN, p.Opcode.StartsMessage(), !bound
	if e.bare {
		e.unprotected++
	}
}

// end closes the block: "Encapsulate and send encoded coding units: P <- {e_1, …, e_k}, k <= c" (Alg. 1, line 6). A
// block shorter than c has a repair packet for each packet: "repair packets (e.g., repair packet A) as duplicates of
// original packets (i.e., data packet 0)" (IV-B1).
func (e *encoder) end(ends bool, last int) {
	e.header = roce.Repair{Type: roce.RepairData, Version: roce.RepairVersion, HasFirst: e.first,
		HasLast: ends, Responses: e.k,
		C: uint8(e.code.c), R: uint16(e.code.r), N: uint16(e.n), Epoch: e.epoch, Base: e.base}
	if ends {
		e.header.LastLen = uint16(last)
	}
	if !e.bare {
		k := min(e.n, e.code.c)
		e.emitted = append(e.emitted[:0], e.units[:k]...)
		e.host.encoding.release(e.units[k:])
	}
	e.units, e.n = e.units[:0], 0
	e.blocks++
}

// discard drops the open block without repair packets.
func (e *encoder) discard() {
	if e.n == 0 {
		return
	}
	e.host.encoding.release(e.units)
	e.units, e.n = e.units[:0], 0
	e.discarded++
}

// emit fills p with the next repair packet, if one waits. It frees the unit whose bytes are the payload; the driver
// copies the payload before a unit is bound again.
func (e *encoder) emit(p *roce.Packet) bool {
	if len(e.emitted) == 0 {
		return false
	}
	u := &e.host.encoding.all[e.emitted[0]]
	e.header.Check = u.check
	*p = roce.Packet{BTH: roce.BTH{Opcode: roce.LoWAR, DestQP: e.destQP}, Repair: e.header,
		Payload: u.sum[:u.n], Len: u.n}
	e.host.encoding.release(e.emitted[:1])
	e.emitted = e.emitted[:copy(e.emitted, e.emitted[1:])]
	e.header.ISN++
	e.repairs++
	return true
}

// hush drops the open block and all waiting repair packets, because the QP failed.
func (e *encoder) hush() {
	e.discard()
	e.host.encoding.release(e.emitted)
	e.emitted = e.emitted[:0]
}
