package evidence

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Astray reports whether the tap at a side is not at the port of the host there: packets were lost or overtaken between
// them, and the host does not react much faster than the far end. However fast it reacts, it does not again and again
// ask for requests that have come, go back to packets that it has not sent, or repeat requests whose answers it has
// heard.
func (v *Vantage) Astray(s trace.Side) bool {
	if len(v.header.Conns) == 0 {
		return false
	}
	h := v.host(v.header.Conns[0].Ends[s].Addr)
	if !v.common(h) {
		return false // the host is not exactly one end of every connection, so the place is unknown
	}
	signs := often(h.seen) + often(h.gaps)
	if !v.near(h) {
		signs = h.seen + h.unseen + h.gaps + h.crossed
	}
	signs += often(h.deaf)
	return signs > 0 && signs*2*much > v.others(h).lost()
}

// Unsettled reports whether the tap at a side may not be at the port of the host there: it sees several hosts,
// something may have been lost between it and the host, or the host is not seen to react much faster than the far end.
func (v *Vantage) Unsettled(s trace.Side) bool {
	if len(v.header.Conns) == 0 {
		return false
	}
	h := v.host(v.header.Conns[0].Ends[s].Addr)
	return h.lost() > 0 || !v.near(h)
}

// Refutes reports whether the only tap is not at the port of the host at a side, where the user states it, and what
// speaks against that place; "" for nothing. A few signs against a host that does not react more slowly than the far
// end may be its own faults.
func (v *Vantage) Refutes(s trace.Side) (why string, refuted bool) {
	if a, both := v.onBothSides(s); both {
		return fmt.Sprintf("%v is that end of some connections and the other end of others; state an address", a), true
	}
	if len(v.header.Conns) == 0 {
		return "", false
	}
	h := v.host(v.header.Conns[0].Ends[s].Addr)
	signs := h.signs()
	if !v.common(h) || signs == 0 {
		return "", false // the place is unknown, or possible
	}
	far := v.others(h)
	_, _, slower := nearer(far, h, 1)
	refuted = v.Astray(s) && often(signs) > 0 || slower && 2*signs > far.lost()
	if !refuted && v.near(h) {
		return "", false
	}
	return fmt.Sprintf("%s between it and %v", several(signs, "sign of a loss", "signs of losses"), h.addr), refuted
}

// RefutesBoth is Refutes of one of two taps, which the user states to be at the ports. A few signs may be faults of the
// host itself, however slowly it reacts: the port of the other one is that of the other tap. Many may be, too, of a
// host that reacts much faster than the far end.
func (v *Vantage) RefutesBoth(s trace.Side) bool {
	_, refuted := v.Refutes(s)
	if !refuted {
		return false
	}
	h := v.host(v.header.Conns[0].Ends[s].Addr)
	return often(h.signs()) > 0 && !v.near(h)
}

// onBothSides returns a host at a side of some connections that is at the other side of others.
func (v *Vantage) onBothSides(s trace.Side) (a netip.Addr, any bool) {
	at := map[netip.Addr]bool{}
	for i := range v.header.Conns {
		at[v.header.Conns[i].Ends[s].Addr] = true
	}
	for i := range v.header.Conns {
		if e := &v.header.Conns[i].Ends; at[e[s.Other()].Addr] && e[0].Addr != e[1].Addr {
			return e[s.Other()].Addr, true
		}
	}
	return a, false
}

// often returns a number of signs if they are too many for a coincidence, otherwise 0.
func often(signs int) int {
	if signs < Fewest {
		return 0
	}
	return signs
}

// near reports whether a host that is an end of every connection reacts much faster than the far ends.
func (v *Vantage) near(h *host) bool {
	if !v.common(h) {
		return false
	}
	_, _, near := nearer(h, v.others(h), much)
	return near
}

// Place is the place of the tap: at the port of a host, or between the ports when addr is not valid.
type Place struct {
	Addr     netip.Addr
	Why      string
	Inferred bool // from the times of reactions
}

// Decide returns the place of the tap. It is at the port of a host only if that host is an end of every connection,
// nothing was lost between the host and the tap, and the host reacts much faster than the hosts at the other ends.
func (v *Vantage) Decide() Place {
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
		if beyond > 0 && lost == 0 && !h.reordered() {
			factor = some
		}
		near, away, ok := nearer(h, far, factor)
		if ok && lost*2*much <= beyond {
			return Place{h.addr, v.explain(h, far, near, away), true}
		}
		reasons = append(reasons, v.doubt(h, near, lost))
	}
	switch {
	case len(v.order) < 2:
		return Place{Why: "both ends have one address"}
	case len(reasons) == 0:
		return Place{Why: "no address is an end of every connection"}
	}
	return Place{Why: strings.Join(reasons, "; ")}
}

// nearer returns a reaction of h that is faster by factor than a reaction of the hosts at the other ends. If there is
// none, near is the first reaction of h. A pause, which may have any reason, says nothing against answers of h that
// overtook others.
func nearer(h, far *host, factor vtime.Duration) (near, away reaction, ok bool) {
	for i, r := range h.reactions() {
		if i == 0 {
			near = r
		}
		for _, away := range far.reactions() {
			if r.faster(away, factor) && (away.in == 0 || !h.reordered()) {
				return r, away, true
			}
		}
	}
	return near, away, false
}

// flagged decides by the direction flags of the frames, if the capture has them: the tap is at the host that sends the
// outbound frames and receives the inbound ones.
func (v *Vantage) flagged() (p Place, ok bool) {
	total := 0
	var most *host
	for _, h := range v.order {
		total += h.flagged
		if most == nil || h.flagged > most.flagged {
			most = h
		}
	}
	if total == 0 {
		return p, false
	}
	if n := most.flagged; n*100 < total*99 || !v.common(most) {
		return Place{Why: "by their direction flags, frames pass through the host of the tap"}, true
	}
	return Place{Addr: most.addr, Why: "as the direction flags of the frames say"}, true
}

// common reports whether h is exactly one end of every connection.
func (v *Vantage) common(h *host) bool {
	for i := range v.header.Conns {
		if e := &v.header.Conns[i].Ends; (e[0].Addr == h.addr) == (e[1].Addr == h.addr) {
			return false
		}
	}
	return true
}

// others returns the evidence of all hosts except one as a single host.
func (v *Vantage) others(but *host) *host {
	var all host
	for _, h := range v.order {
		if h == but {
			continue
		}
		all.unseen, all.seen, all.gaps = all.unseen+h.unseen, all.seen+h.seen, all.gaps+h.gaps
		all.swaps, all.keeps, all.deaf = all.swaps+h.swaps, all.keeps || h.keeps, all.deaf+h.deaf
		all.silent, all.answers = append(all.silent, h.silent...), append(all.answers, h.answers...)
		all.react, all.idle = append(all.react, h.react...), append(all.idle, h.idle...)
		all.spacing = append(all.spacing, h.spacing...)
	}
	return &all
}

// explain returns why the tap is at the port of h.
func (v *Vantage) explain(h, far *host, near, away reaction) string {
	var why []string
	if far.seen > 0 {
		why = append(why, several(far.seen, "NAK for a packet that it saw", "NAKs for packets that it saw"))
	}
	if far.unseen > 0 {
		why = append(why, several(far.unseen, "NAK for a packet that it never saw",
			"NAKs for packets that it never saw"))
	}
	if h.lost() > 0 {
		why = append(why, several(h.lost(), "sign against it", "signs against it"))
	}
	return strings.Join(append(why, fmt.Sprintf("%s after %s there, %s after %s from the other end", near.what,
		short(near), away.what, short(away))), "; ")
}

// doubt returns why the tap is not known to be at the port of h.
func (v *Vantage) doubt(h *host, near reaction, lost int) string {
	switch {
	case lost > 0:
		return fmt.Sprintf("%s between it and %v", several(lost, "sign of a loss", "signs of losses"), h.addr)
	case near.what == "":
		return fmt.Sprintf("nothing shows how fast %v reacts", h.addr)
	}
	return fmt.Sprintf("%s after %s from %v", near.what, short(near), h.addr)
}

// short prints the time of a reaction to three digits.
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
