// Package fragment is the IP layer of a host below a transport that is not RoCEv2: it cuts packets into IP fragments
// that fit the link, and joins received fragments (RFC 791). It reads no header above IP.
package fragment

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Layer fragments and joins the packets of one host. One datagram is sent at a time, so its fragments are sent in a
// row.
type Layer struct {
	link    int    // payload of a fragment in bytes; a multiple of 8
	next    uint16 // identification of the next datagram
	sending roce.Packet
	at      int     // bytes of sending that have been sent; 0 when no datagram is being sent
	conn    int     // connection of sending
	joins   []*join // oldest first
	free    []*join
}

// ipHeader is the length of an IPv4 header in bytes.
const ipHeader = 20

// Limits of reassembly: datagrams in progress, time for one (a link of 1 Mb/s sends 64 KiB in 0.5 s), and longest
// datagram.
const (
	joinLimit   = 64
	joinTime    = 2 * vtime.Second
	longestData = 65535 - ipHeader
)

// New returns the layer of a host whose link takes IP packets of mtu bytes.
func New(mtu int) Layer { return Layer{link: max(8, (mtu-ipHeader)&^7)} }

// Pending reports whether fragments of a datagram are still to be sent.
func (l *Layer) Pending() bool { return l.at > 0 }

// Send sets the identification of an engine's packet p, and replaces p by its first fragment when it is too long. The
// payload belongs to the engine, which must not be called again before the last fragment is sent.
func (l *Layer) Send(p *roce.Packet, conn int) {
	p.IP = roce.IP{ID: l.next}
	l.next++
	if len(p.Payload) > l.link {
		l.sending, l.conn = *p, conn
		l.Next(p)
	}
}

// Next fills p with the next fragment of the datagram being sent, and returns its connection.
func (l *Layer) Next(p *roce.Packet) (conn int) {
	n := min(l.link, len(l.sending.Payload)-l.at)
	*p = l.sending
	p.Payload, p.Len = l.sending.Payload[l.at:l.at+n], n
	more := l.at+n < len(l.sending.Payload)
	p.IP.Fragment = roce.NewFragment(l.at, more)
	if l.at += n; !more {
		l.at = 0
	}
	return l.conn
}

// join is a datagram that is being reassembled.
type join struct {
	id     uint16
	since  vtime.Time
	data   []byte // received data, with holes
	blocks [(longestData/8 + 64) / 64]uint64
	have   int // number of blocks of 8 bytes received
	end    int // length of the datagram in bytes; 0 until the last fragment is received
}

// Receive takes a fragment, or a whole packet, and returns the whole datagram, which is valid until the next call; ok
// is false until it is complete. stale is the number of datagrams that were given up.
func (l *Layer) Receive(now vtime.Time, p *roce.Packet) (whole []byte, stale int, ok bool) {
	if p.IP.Fragment.Whole() {
		return p.Payload, 0, true
	}
	i := slices.IndexFunc(l.joins, func(j *join) bool { return j.id == p.IP.ID })
	if i >= 0 && now.Sub(l.joins[i].since) >= joinTime {
		i = -1 // expired, and forgotten below: this fragment belongs to another datagram
	}
	if i < 0 {
		for len(l.joins) == joinLimit || len(l.joins) > 0 && now.Sub(l.joins[0].since) >= joinTime {
			l.forget(0)
			stale++
		}
		l.joins = append(l.joins, l.blank(now, p.IP.ID))
		i = len(l.joins) - 1
	}
	j := l.joins[i]
	if !j.add(p) {
		return nil, stale, false
	}
	l.forget(i)
	return j.data[:j.end], stale, true
}

// blank returns an empty join, reusing an old one if there is one.
func (l *Layer) blank(now vtime.Time, id uint16) *join {
	var j *join
	if n := len(l.free); n > 0 {
		j, l.free = l.free[n-1], l.free[:n-1]
	} else {
		j = &join{}
	}
	*j = join{id: id, since: now, data: j.data[:0]}
	return j
}

// forget removes join i; the order of the others, by time of their first fragment, is kept.
func (l *Layer) forget(i int) {
	l.free = append(l.free, l.joins[i])
	l.joins = append(l.joins[:i], l.joins[i+1:]...)
}

// add stores a fragment at its offset and reports whether the datagram is complete.
func (j *join) add(p *roce.Packet) (whole bool) {
	off := p.IP.Fragment.Offset()
	end := off + len(p.Payload)
	if end > longestData || p.IP.Fragment.More() && len(p.Payload)&7 != 0 {
		return false // invalid: RFC 791 requires whole blocks in all fragments but the last
	}
	if end > len(j.data) {
		j.data = slices.Grow(j.data, end-len(j.data))[:end]
	}
	copy(j.data[off:], p.Payload)
	for b := off / 8; b < (end+7)/8; b++ {
		if bit := uint64(1) << (b & 63); j.blocks[b>>6]&bit == 0 {
			j.blocks[b>>6] |= bit
			j.have++
		}
	}
	if !p.IP.Fragment.More() {
		j.end = end
	}
	return j.end > 0 && j.have == (j.end+7)/8
}
