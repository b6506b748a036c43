package tc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of linux/pkt_sched.h that the netlink library does not name, and the kinds of TCA_NETEM_LOSS.
const (
	attrLatency64 = 10
	attrJitter64  = 11
	attrSeed      = 14
	lossGI        = 1
	lossGE        = 2
)

// optionsSize is the length of struct tc_netem_qopt, six u32, in bytes; attributes follow it.
const optionsSize = 24

// tick is the unit of the old 32-bit times: 64 ns (PSCHED_SHIFT is 6).
const tick = 64

// encode returns the payload of TCA_OPTIONS. Times are sent as ticks if that is exact, as iproute2 does, and otherwise
// as nanoseconds, which needs Linux 4.15.
func (n Netem) encode() []byte {
	latency, latencyExact := ticks(n.Latency)
	jitter, jitterExact := ticks(n.Jitter)
	b := words(latency, n.Limit, uint32(n.Loss), n.Gap, uint32(n.Duplicate), jitter)
	attr := func(kind int, value []byte) { b = append(b, nl.NewRtAttr(kind, value).Serialize()...) }
	if n.Reorder != 0 {
		attr(nl.TCA_NETEM_REORDER, words(uint32(n.Reorder), 0)) // the second word is a correlation
	}
	if n.ECN {
		attr(nl.TCA_NETEM_ECN, words(1))
	}
	if n.Corrupt != 0 {
		attr(nl.TCA_NETEM_CORRUPT, words(uint32(n.Corrupt), 0))
	}
	if model := n.encodeLoss(); model != nil {
		attr(nl.TCA_NETEM_LOSS|unix.NLA_F_NESTED, model.Serialize())
	}
	if n.Rate != 0 {
		if n.Rate > math.MaxUint32 {
			attr(nl.TCA_NETEM_RATE64, binary.NativeEndian.AppendUint64(nil, n.Rate))
		}
		attr(nl.TCA_NETEM_RATE, words(uint32(min(n.Rate, math.MaxUint32)), uint32(n.Overhead), 0, 0)) // no cells
	}
	if !latencyExact {
		attr(attrLatency64, binary.NativeEndian.AppendUint64(nil, uint64(n.Latency)))
	}
	if !jitterExact {
		attr(attrJitter64, binary.NativeEndian.AppendUint64(nil, uint64(n.Jitter)))
	}
	if n.Seed != nil {
		attr(attrSeed, binary.NativeEndian.AppendUint64(nil, *n.Seed))
	}
	return b
}

// encodeLoss returns the nested attribute of a Markov model. Independent losses have none: they are in tc_netem_qopt.
func (n Netem) encodeLoss() *nl.RtAttr {
	switch {
	case n.GE != nil:
		return nl.NewRtAttr(lossGE, words(uint32(n.GE.P), uint32(n.GE.R), uint32(n.GE.H), uint32(n.GE.K1)))
	case n.GI != nil:
		g := n.GI
		return nl.NewRtAttr(lossGI, words(uint32(g.P13), uint32(g.P31), uint32(g.P32), uint32(g.P14), uint32(g.P23)))
	}
	return nil
}

// ticks converts nanoseconds to ticks and reports whether the result is exact.
func ticks(ns int64) (uint32, bool) {
	t := ns / tick
	return uint32(min(t, math.MaxUint32)), t*tick == ns && t <= math.MaxUint32
}

// words encodes u32 values as the kernel's structures have them, in host order.
func words(xs ...uint32) []byte {
	var b []byte
	for _, x := range xs {
		b = binary.NativeEndian.AppendUint32(b, x)
	}
	return b
}

// decode reads the payload of TCA_OPTIONS as the kernel dumps it. It ignores unknown attributes.
func decode(b []byte) (Netem, error) {
	if len(b) < optionsSize {
		return Netem{}, fmt.Errorf("tc: netem options of %d bytes; want at least %d", len(b), optionsSize)
	}
	at := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
	n := Netem{
		Latency: int64(at(0)) * tick, Limit: at(1), Loss: Probability(at(2)), Gap: at(3),
		Duplicate: Probability(at(4)), Jitter: int64(at(5)) * tick,
	}
	attrs, err := nl.ParseRouteAttr(b[optionsSize:])
	if err != nil {
		return Netem{}, fmt.Errorf("tc: netem attributes: %w", err)
	}
	var wide *uint64 // TCA_NETEM_RATE64 overrides the 32-bit rate at any position
	for _, a := range attrs {
		if int(a.Attr.Type&^unix.NLA_F_NESTED) == nl.TCA_NETEM_RATE64 && len(a.Value) >= 8 {
			x := binary.NativeEndian.Uint64(a.Value)
			wide = &x
			continue
		}
		if err := n.decodeAttr(int(a.Attr.Type&^unix.NLA_F_NESTED), a.Value); err != nil {
			return Netem{}, err
		}
	}
	if wide != nil {
		n.Rate = *wide
	}
	return n, nil
}

// decodeAttr reads one attribute of known size.
func (n *Netem) decodeAttr(kind int, v []byte) error {
	sizes := map[int]int{
		nl.TCA_NETEM_REORDER: 8, nl.TCA_NETEM_CORRUPT: 8, nl.TCA_NETEM_RATE: 16, nl.TCA_NETEM_ECN: 4,
		attrLatency64: 8, attrJitter64: 8, attrSeed: 8,
	}
	if len(v) < sizes[kind] {
		return fmt.Errorf("tc: netem attribute %d has %d bytes; want %d", kind, len(v), sizes[kind])
	}
	switch kind {
	case nl.TCA_NETEM_REORDER:
		n.Reorder = Probability(binary.NativeEndian.Uint32(v))
	case nl.TCA_NETEM_CORRUPT:
		n.Corrupt = Probability(binary.NativeEndian.Uint32(v))
	case nl.TCA_NETEM_LOSS:
		return n.decodeLoss(v)
	case nl.TCA_NETEM_RATE:
		n.Rate = uint64(binary.NativeEndian.Uint32(v))
		n.Overhead = int32(binary.NativeEndian.Uint32(v[4:]))
	case nl.TCA_NETEM_ECN:
		n.ECN = binary.NativeEndian.Uint32(v) != 0
	case attrLatency64:
		n.Latency = int64(binary.NativeEndian.Uint64(v))
	case attrJitter64:
		n.Jitter = int64(binary.NativeEndian.Uint64(v))
	case attrSeed:
		seed := binary.NativeEndian.Uint64(v)
		n.Seed = &seed
	}
	return nil
}

// decodeLoss rejects unknown models: if it read them as no loss, Compare would find no difference.
func (n *Netem) decodeLoss(b []byte) error {
	attrs, err := nl.ParseRouteAttr(b)
	if err != nil {
		return fmt.Errorf("tc: netem loss model: %w", err)
	}
	for _, a := range attrs {
		p := make([]Probability, len(a.Value)/4)
		for i := range p {
			p[i] = Probability(binary.NativeEndian.Uint32(a.Value[4*i:]))
		}
		switch {
		case a.Attr.Type == lossGE && len(p) >= 4:
			n.GE = &GE{P: p[0], R: p[1], H: p[2], K1: p[3]}
		case a.Attr.Type == lossGI && len(p) >= 5:
			n.GI = &GI{P13: p[0], P31: p[1], P32: p[2], P14: p[3], P23: p[4]}
		default:
			return fmt.Errorf("tc: netem loss model %d with %d parameters is unknown", a.Attr.Type, len(p))
		}
	}
	return nil
}
