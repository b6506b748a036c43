package recording

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// vantage finds out where the one tap of a capture stands, when its connections are known.
type vantage struct {
	header  *trace.Header
	ends    map[flowKey]end
	courses [][2]course // by connection and requester
	hosts   map[netip.Addr]*host
	order   []*host // as they appear in the connections
	flags   map[netip.Addr]int
	witness *witness

	unsealed map[netip.Addr]bool // senders that never made a right ICRC: it says nothing about damage
}

// end is where a frame belongs: its connection, and which end sent it.
type end struct {
	conn int
	from trace.Side
}

func newVantage(h *trace.Header) *vantage {
	v := &vantage{header: h, ends: map[flowKey]end{}, courses: make([][2]course, len(h.Conns)), hosts: map[netip.Addr]*host{},
		flags: map[netip.Addr]int{}, witness: newWitness(h)}
	for i := range h.Conns {
		ends := &h.Conns[i].Ends
		for _, s := range []trace.Side{trace.A, trace.B} {
			o := &ends[s.Other()]
			for _, qp := range append([]uint32{o.QP.QPN}, o.Misaddressed...) {
				v.ends[flowKey{ends[s].Addr, o.Addr, qp}] = end{i, s}
			}
			c := &v.courses[i][s]
			c.requester, c.responder = v.host(ends[s].Addr), v.host(o.Addr)
		}
	}
	return v
}

// host returns that of an address.
func (v *vantage) host(a netip.Addr) *host {
	h := v.hosts[a]
	if h == nil {
		h = &host{addr: a}
		v.hosts[a] = h
		v.order = append(v.order, h)
	}
	return h
}

// watch reads whole sources.
func (v *vantage) watch(sources []capture.Source) error {
	lanes := capture.NewLanes(sources, time.Time{})
	for n := lanes.Next(); n != nil; n = lanes.Next() {
		v.frame(&n.Frame, n.At)
	}
	if err := lanes.Err(); err != nil && !errors.Is(err, trace.ErrTruncated) {
		return err
	}
	return nil
}

// frame takes what one frame shows.
func (v *vantage) frame(f *capture.Frame, at vtime.Time) {
	var h roce.Frame
	if err := h.Decode(f.Raw); err != nil {
		return
	}
	whole := f.Kept < len(f.Raw) || v.unsealed[h.Src] || h.ICRCOK(f.Raw)
	p := &h.Packet
	e, ok := v.ends[flowKey{h.Src, h.Dst, p.DestQP}]
	if !ok || p.Opcode.NumberedApart() {
		return
	}
	switch f.Way {
	case capture.Outward:
		v.flags[h.Src]++
	case capture.Inward:
		v.flags[h.Dst]++
	}
	span, exact := v.span(p, e)
	v.witness.follow(f, p, e, span, exact && f.Headed())
	if v.header.Conns[e.conn].Doubts[0].Fails != 0 {
		return // whose answers these are is a guess
	}
	switch {
	case !f.Headed():
		if p.Opcode.IsRequest() {
			v.courses[e.conn][e.from].request(p, at, 1, false)
		}
	case !whole && p.Opcode.IsRequest():
		v.courses[e.conn][e.from].spoilt(p, at)
	case !whole:
	case p.Opcode.IsRequest():
		v.courses[e.conn][e.from].request(p, at, span, exact)
	case p.Opcode.IsResponse():
		v.courses[e.conn][e.from.Other()].response(p, at)
	}
}

// span is how many PSNs a request takes; exact is false for a READ whose MTU is not known.
func (v *vantage) span(p *roce.Packet, e end) (n int, exact bool) {
	if p.Opcode != roce.ReadRequest || p.RETH.DMALen == 0 {
		return 1, true
	}
	mtu := v.header.Conns[e.conn].Ends[e.from].QP.MTU
	if mtu == 0 {
		return 1, false
	}
	return min((int(p.RETH.DMALen)+mtu-1)/mtu, psn.Half/2), true
}

// missing counts what the capture lacks by its own account: requests that were answered and never passed the tap, where that stands at the
// port of their sender; at that of their receiver, those of which the answer has data that nobody else has.
func (v *vantage) missing(h *trace.Header) (n uint64) {
	counted := map[*host]bool{}
	for i := range h.Conns {
		for s, tapped := range h.Taps {
			if x := v.host(h.Conns[i].Ends[s].Addr); tapped && !counted[x] {
				counted[x] = true
				n += x.missing + x.unserved
			}
		}
	}
	return n
}

// anew counts the connections that began again between the same QPNs.
func (v *vantage) anew() (n uint64) {
	for _, h := range v.order {
		n += h.anew
	}
	return n
}

// astray reports whether the tap at a side is not at the port of any host there: something was lost between them, and the host is not
// seen to react at once.
func (v *vantage) astray(s trace.Side) bool {
	if len(v.header.Conns) == 0 {
		return false
	}
	h := v.host(v.header.Conns[0].Ends[s].Addr)
	if !v.common(h) {
		return false // nobody knows
	}
	far := v.others(h)
	_, _, near := nearer(h, far, much)
	signs := h.seen + h.unseen + h.gaps
	return !near && signs > 0 && signs*2*much > far.lost()
}

// place is where the tap stands: at the port of a host, or between them when addr is not valid.
type place struct {
	addr netip.Addr
	why  string
}

// decide tells where the tap stands. It is at the port of a host only if that host is an end of every connection, nothing was lost
// between the two, and it reacts much faster than the hosts at the other ends.
func (v *vantage) decide() place {
	if p, ok := v.flagged(); ok {
		return p
	}
	var reasons []string
	for _, h := range v.order {
		if !v.common(h) {
			continue
		}
		far := v.others(h)
		lost, beyond := h.lost(), far.lost()
		factor := vtime.Duration(much)
		if beyond > 0 {
			factor = some
		}
		near, away, ok := nearer(h, far, factor)
		if ok && lost*2*much <= beyond {
			return place{h.addr, v.explain(h, far, near, away)}
		}
		reasons = append(reasons, v.doubt(h, near, lost))
	}
	switch {
	case len(v.order) < 2:
		return place{why: "both ends have one address"}
	case len(reasons) == 0:
		return place{why: "no address is an end of every connection"}
	}
	return place{why: strings.Join(reasons, "; ")}
}

// nearer looks for a kind of reaction by which h is much faster than the hosts at the other ends. Otherwise near is its first kind.
func nearer(h, far *host, factor vtime.Duration) (near, away reaction, ok bool) {
	for i, r := range h.reactions() {
		if i == 0 {
			near = r
		}
		for _, away := range far.reactions() {
			if r.faster(away, factor) {
				return r, away, true
			}
		}
	}
	return near, away, false
}

// flagged goes by the direction of frames where the capture says it: the host that sends what leaves is the one with the tap.
func (v *vantage) flagged() (p place, ok bool) {
	total := 0
	var most *host
	for _, h := range v.order {
		total += v.flags[h.addr]
		if most == nil || v.flags[h.addr] > v.flags[most.addr] {
			most = h
		}
	}
	if total == 0 {
		return p, false
	}
	if n := v.flags[most.addr]; n*100 < total*99 || !v.common(most) {
		return place{why: "by their direction flags, frames pass through the host of the tap"}, true
	}
	return place{most.addr, "as the direction flags of the frames say"}, true
}

// common reports whether h is an end of every connection, and of none both.
func (v *vantage) common(h *host) bool {
	for i := range v.header.Conns {
		if e := &v.header.Conns[i].Ends; (e[0].Addr == h.addr) == (e[1].Addr == h.addr) {
			return false
		}
	}
	return true
}

// others puts together all hosts but one.
func (v *vantage) others(but *host) *host {
	var all host
	for _, h := range v.order {
		if h == but {
			continue
		}
		all.unseen, all.seen, all.gaps = all.unseen+h.unseen, all.seen+h.seen, all.gaps+h.gaps
		all.silent, all.answers = append(all.silent, h.silent...), append(all.answers, h.answers...)
		all.react, all.idle = append(all.react, h.react...), append(all.idle, h.idle...)
		all.spacing = append(all.spacing, h.spacing...)
	}
	return &all
}

// explain says why the tap is at the port of h.
func (v *vantage) explain(h, far *host, near, away reaction) string {
	var why []string
	if far.seen > 0 {
		why = append(why, several(far.seen, "NAK for a packet that it saw", "NAKs for packets that it saw"))
	}
	if far.unseen > 0 {
		why = append(why, several(far.unseen, "NAK for a packet that it never saw", "NAKs for packets that it never saw"))
	}
	if h.lost() > 0 {
		why = append(why, several(h.lost(), "sign against it", "signs against it"))
	}
	return strings.Join(append(why, fmt.Sprintf("%s after %s there, %s after %s from the other end", near.what, short(near), away.what, short(away))), "; ")
}

// doubt says why the tap is not known to be at the port of h.
func (v *vantage) doubt(h *host, near reaction, lost int) string {
	switch {
	case lost > 0:
		return fmt.Sprintf("%s between it and %v", several(lost, "sign of a loss", "signs of losses"), h.addr)
	case near.what == "":
		return fmt.Sprintf("nothing shows how fast %v reacts", h.addr)
	}
	return fmt.Sprintf("%s after %s from %v", near.what, short(near), h.addr)
}

// short prints how long a reaction took, to three digits.
func short(r reaction) string {
	d, digit := r.time.Std(), time.Duration(1)
	for d/digit >= 1000 {
		digit *= 10
	}
	return d.Round(digit).String()
}

// several prints a count with its noun.
func several(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
