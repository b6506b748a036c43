package models

import "math"

// LoWAR describes a link under LoWAR's repair packets: blocks of R data packets, interleaved into C units, each of
// which has one repair packet and survives one loss (LoWAR IV).
type LoWAR struct {
	R, C        int
	Data, Extra int // layer-1 bytes of a data packet, and of a repair packet
}

// UnitFails is the probability that m data packets and their repair packet lose two or more, which XOR cannot repair.
func UnitFails(p float64, m int) float64 {
	if !ratio(p) || m < 1 {
		return math.NaN()
	}
	n := float64(m)
	return 1 - math.Pow(1-p, n+1) - (n+1)*p*math.Pow(1-p, n)
}

// Residual is the rate of go-back-N events that remain with the code, per data packet: a block fails when any of its
// units does. When C does not divide R, the units of a block differ by at most one packet.
func (l LoWAR) Residual(p float64) float64 {
	survives := 1.0
	for i := range l.C {
		survives *= 1 - UnitFails(p, (l.R+i)/l.C)
	}
	return (1 - survives) / float64(l.R)
}

// Share is the share of the line that data packets have: R of R data and C repair packets.
func (l LoWAR) Share() float64 {
	data, extra := float64(l.R*l.Data), float64(l.C*l.Extra)
	return data / (data + extra)
}

// Efficiency is the goodput as a share of the goodput of the bare line without loss: the share of the data packets,
// times go-back-N for the remaining events. Data packets have only their share of the product b.
func (l LoWAR) Efficiency(p, b float64) float64 {
	return l.Share() * GoBackN(l.Residual(p), b*l.Share())
}

// Kept is the goodput at p as a share of the goodput without loss, for one of n connections that share the line evenly:
// each has an n-th of the product, and so loses an n-th as much when it goes back (LoWAR VI-A, "diluted retransmission
// wastage").
func (l LoWAR) Kept(p, b float64, n int) float64 {
	return GoBackN(l.Residual(p), b*l.Share()/float64(n))
}
