package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// LoadPayload sets the payload of p to the next min(mtu, left) bytes at va. The payload refers to memory without a
// copy: the application may reuse the buffer only after the request has completed.
func LoadPayload(p *roce.Packet, mem engine.Memory, va uint64, left, mtu int) {
	n := min(mtu, left)
	p.Len = n
	if n > 0 {
		p.Payload = mem.Load(va, n)
	}
}

// EndMessage sets the fields that only the last packet of a SEND or WRITE carries.
func EndMessage(p *roce.Packet, wr *engine.WorkRequest) {
	switch wr.Op {
	case engine.OpSendImm, engine.OpWriteImm:
		p.Imm = wr.Imm
	case engine.OpSendInv:
		p.InvKey = wr.InvKey
	}
	p.Pad = Pad(p.Len)
	// Only an operation that completes a receive can raise a solicited event (IBTA 9.2.3).
	p.SE = wr.Solicited && wr.Op != engine.OpWrite
}

// Pad returns the number of pad bytes that extend n bytes to a multiple of four (IBTA 9.2).
func Pad(n int) uint8 { return uint8(-n & 3) }
