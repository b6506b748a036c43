// Package fragment is what a host does below a transport that is not RoCEv2: it cuts packets into IP fragments that fit
// the link, and joins those that arrive (RFC 791). It looks at no header above IP.
package fragment

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Layer fragments and joins the packets of one host. One datagram is sent at a time, so its fragments follow each
// other.
type Layer struct {
	link    int    // fragment payload, bytes; a multiple of 8
	next    uint16 // identification of the next datagram
	sending roce.Packet
	at      int     // how much of sending has left; 0 when there is none
	conn    int     // whose it is
	joins   []*join // oldest first
	free    []*join
}

// ipHeader is the length of an IPv4 header in bytes.
const ipHeader = 20

// Limits of reassembly: datagrams in progress, how long one may take (a link of 1 Mb/s sends 64 KiB in 0.5 s), and the
// longest.
const (
	joinLimit   = 64
	joinTime    = 2 * vtime.Second
	longestData = 65535 - ipHeader
)

// New returns the layer of a host whose link takes IP packets of mtu bytes.
func New(mtu int) Layer { return Layer{link: max(8, (mtu-ipHeader)&^7)} }

// Pending reports whether fragments of a datagram have yet to leave.
func (l *Layer) Pending() bool { return l.at > 0 }

// Send numbers the packet p of an engine, and when it is too long makes it the first of its fragments. The payload is
// the engine's, which is not called again before the last one has left.
func (l *Layer) Send(p *roce.Packet, conn int) {
	p.IP = roce.IP{ID: l.next}
	l.next++
	if len(p.Payload) > l.link {
		l.sending, l.conn = *p, conn
		l.Next(p)
	}
}

// Next makes p the next fragment of what was sent, and returns the connection that it is of.
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

// join is a datagram of which fragments have come.
type join struct {
	id     uint16
	since  vtime.Time
	data   []byte // as far as it has come, with holes
	blocks [(longestData/8 + 64) / 64]uint64
	have   int // blocks of 8 bytes that have come
	end    int // bytes of the whole; 0 until the last fragment has come
}

// Receive takes a fragment, or a whole packet, and returns the whole one, which is valid until the next call; ok is
// false until all of it has come. Stale is how many datagrams were given up meanwhile.
func (l *Layer) Receive(now vtime.Time, p *roce.Packet) (whole []byte, stale int, ok bool) {
	if p.IP.Fragment.Whole() {
		return p.Payload, 0, true
	}
	i := slices.IndexFunc(l.joins, func(j *join) bool { return j.id == p.IP.ID })
	if i >= 0 && now.Sub(l.joins[i].since) >= joinTime {
		i = -1 // its turn to go comes below: this is another datagram
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

// blank returns a join to begin with.
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

// forget takes a join out; joins are in the order of their beginning.
func (l *Layer) forget(i int) {
	l.free = append(l.free, l.joins[i])
	l.joins = append(l.joins[:i], l.joins[i+1:]...)
}

// add puts a fragment in its place and reports whether the datagram is whole.
func (j *join) add(p *roce.Packet) (whole bool) {
	off := p.IP.Fragment.Offset()
	end := off + len(p.Payload)
	if end > longestData || p.IP.Fragment.More() && len(p.Payload)&7 != 0 {
		return false // no such fragment: RFC 791 wants whole blocks in all but the last
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
