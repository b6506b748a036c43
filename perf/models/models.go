// Package models holds closed forms for the performance of a transport over a lossy link: what a paper claims, and what
// a run should measure if only the mechanism named here has an effect.
//
// Conventions: p is the probability that the link loses a packet, independently of all others. A window, or a
// bandwidth-delay product b, is counted in packets, and an efficiency is a share of the line's capacity without loss.
// Arguments out of their range (p outside 0 to 1, a negative window) give NaN, which no bound accepts.
package models

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Overhead is the number of bytes that layer 1 adds to the payload of a RoCEv2 packet without extension headers:
// preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 and the inter-frame gap of 12. With it the 4096-byte
// packet of the NTT paper is a frame of 4178 bytes, as stated there (4.1).
const Overhead = 82

// RETH is the extension header of the first or only packet of a WRITE, in bytes (IBTA 9.3.1).
const RETH = 16

// Ceiling is the share of the line that is payload when WRITEs of msg bytes are sent without a pause.
func Ceiling(msg, mtu int) float64 {
	if msg < 1 || mtu < 1 {
		return math.NaN()
	}
	packets := (msg + mtu - 1) / mtu
	return float64(msg) / float64(msg+packets*Overhead+RETH)
}

// BDP is the bandwidth-delay product in packets of wire bytes. It is not rounded: the models are continuous in it.
func BDP(rtt vtime.Duration, rate unit.Rate, wire int) float64 {
	return rtt.Seconds() * float64(rate) / 8 / float64(wire)
}

// ratio reports whether p is a probability less than 1; a link that loses everything has no throughput to model.
func ratio(p float64) bool { return p >= 0 && p < 1 }
