package drive

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/drive/fragment"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// port is where frames enter and leave an endpoint: it decodes arriving frames, and counts those that are damaged or
// not from the peer.
type port struct {
	frames tamper.Frames  // changes of whole frames by the implementation
	overIP bool           // the implementation is not RoCEv2
	ip     fragment.Layer // IP layer of such an implementation
	frame  roce.Frame     // the frame that arrived last
	checks *checks
}

// mostPorts is the number of ports for QPs, see iwarp.PortOf.
const mostPorts = 1 << 14

// defaultLinkMTU is Ethernet's link MTU, for a transport over IP that gives none.
const defaultLinkMTU = 1500

// init prepares the port for the packets of an implementation.
func (p *port) init(impl *engine.Implementation, host engine.Host, frames tamper.Frames, qps int, c *checks) error {
	mtu := defaultLinkMTU
	if f, ok := host.(engine.Fragmenter); ok {
		mtu = f.LinkMTU()
	}
	*p = port{frames: frames, overIP: impl.OverIP(), ip: fragment.New(mtu), checks: c}
	if p.overIP && qps > mostPorts {
		return fmt.Errorf("%d QPs; each needs a port, and there are %d", qps, mostPorts)
	}
	return nil
}

// emit returns the bytes to be sent for an encoded frame.
func (p *port) emit(frame []byte) []byte {
	if p.frames.Out == nil {
		return frame
	}
	return p.frames.Out(frame)
}

// enter returns the bytes to be decoded for a frame that arrived.
func (p *port) enter(frame []byte) []byte {
	if p.frames.In == nil {
		return frame
	}
	return p.frames.In(frame)
}

// open decodes a RoCEv2 frame; it returns nil when the frame is to be dropped. The frame is valid until the next call.
// payload is the CRC-32 of the frame's payload, nil when it is not known.
func (p *port) open(b []byte, payload *uint32) *roce.Frame {
	if p.frames.In != nil {
		payload = nil
	}
	b = p.enter(b)
	f := &p.frame
	err := f.Decode(b)
	switch {
	case errors.Is(err, roce.ErrNotRoCE):
	case errors.Is(err, roce.ErrUnknownOpcode):
		p.checks.count(0, badOpcode)
	case err != nil:
		p.checks.count(0, malformed)
	case f.Src != p.checks.peer:
		p.checks.count(0, wrongSource)
	case !sealed(f, b, payload):
		p.checks.count(0, badICRC)
	default:
		return f
	}
	return nil
}

// sealed reports whether the ICRC of a frame is right; payload is the CRC-32 of its payload, nil when it is not known.
func sealed(f *roce.Frame, b []byte, payload *uint32) bool {
	if payload != nil {
		return f.ICRCOver(b, *payload)
	}
	return f.ICRCOK(b)
}

// congested is the ECN codepoint of a packet that met congestion: CE (RFC 3168, 5).
const congested = 3

// openIP is open for an implementation that is not RoCEv2. It returns whole packets: fragments are joined first.
func (p *port) openIP(now vtime.Time, b []byte) (conn int, whole *roce.Packet) {
	b = p.enter(b)
	f := &p.frame
	err := f.DecodeAny(b)
	switch {
	case errors.Is(err, roce.ErrNotRoCE):
	case err != nil:
		p.checks.count(0, malformed)
	case !f.Packet.Opcode.OverIP():
		p.checks.count(0, wrongClass)
	case f.Src != p.checks.peer:
		p.checks.count(0, wrongSource)
	case f.Packet.Opcode == roce.TCP && !roce.TCPChecksumOK(b):
		p.checks.count(0, badChecksum)
	default:
		return p.join(now, &f.Packet)
	}
	return 0, nil
}

// join joins a packet without BTH and returns the connection to which its ports belong; whole is nil when the packet is
// incomplete or is dropped.
func (p *port) join(now vtime.Time, packet *roce.Packet) (conn int, whole *roce.Packet) {
	data, stale, ok := p.ip.Receive(now, packet)
	for range stale {
		p.checks.count(0, notJoined)
	}
	if !ok {
		return 0, nil
	}
	if len(data) < iwarp.UDPLen {
		p.checks.count(0, malformed)
		return 0, nil
	}
	be := binary.BigEndian
	conn, ok = p.checks.connOf(be.Uint16(data), be.Uint16(data[2:]))
	switch {
	case !p.checks.takes(packet.Opcode):
		p.checks.count(0, wrongClass)
		return 0, nil
	case !ok:
		p.checks.count(0, unknownQP)
		return 0, nil
	}
	packet.Payload, packet.Len, packet.IP = data, len(data), roce.IP{ID: packet.IP.ID}
	return conn, packet
}
