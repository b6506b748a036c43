package roce

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A fingerprint covers all bytes that no router changes, and only those; one of any class does not cover the class.
func TestFingerprint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 13, 14, 15, 33, 54, 60, 61, 1102} {
		frame := make([]byte, n)
		for i := range frame {
			frame[i] = byte(r.Uint32())
		}
		if n > ethLen {
			frame[ethLen] = 0x45
		}
		was, any := Fingerprint(frame), FingerprintAnyClass(frame)
		for i := range frame {
			changed := bytes.Clone(frame)
			changed[i] ^= 1 << (i % 8 & 3) // never the version
			routed := i < ethLen-2 || n > ethLen && (i == ethLen+8 || i == ethLen+10 || i == ethLen+11)
			if same := Fingerprint(changed) == was; same != (routed || n < ethLen) {
				t.Errorf("%d bytes, byte %d changed: same fingerprint %v", n, i, same)
			}
			free := routed || n < ethLen || n > ethLen && i == ethLen+1
			if same := FingerprintAnyClass(changed) == any; same != free {
				t.Errorf("%d bytes, byte %d changed: same fingerprint of any class %v", n, i, same)
			}
		}
		if n > ethLen+ipv4Len && Fingerprint(frame[:n-1]) == was {
			t.Errorf("%d bytes: the last is of no account", n)
		}
	}
	frame := make([]byte, 1100)
	if n := testing.AllocsPerRun(100, func() { Fingerprint(frame) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Frames of the kernel are distinguished from packets of the run with a corrupted header.
func TestOfKernel(t *testing.T) {
	ip := func(protocol byte) []byte {
		f := append(make([]byte, 12), 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2,
			8, 0, 0, 0, 0, 0, 0, 0)
		binary.BigEndian.PutUint16(f[24:], ^headerSum(f[14:34]))
		return f
	}
	damaged := ip(protoUDP)
	damaged[23] ^= protoUDP ^ protoICMP
	six := append(append(make([]byte, 12), 0x86, 0xDD, 0x60), make([]byte, 47)...)
	six[20] = protoICMP6
	for name, c := range map[string]struct {
		frame []byte
		want  bool
	}{
		"ARP": {append(make([]byte, 12), 8, 6, 0), true}, "ICMP": {ip(protoICMP), true}, "IGMP": {ip(protoIGMP), true},
		"ICMPv6": {six, true},
		"UDP":    {ip(protoUDP), false}, "TCP": {ip(protoTCP), false}, "damaged UDP": {damaged, false},
		"cut ICMP": {ip(protoICMP)[:30], false},
		"nothing":  {nil, false}, "unknown EtherType": {append(make([]byte, 12), 0x88, 0xB5, 1, 2), false},
		"cut IPv6": {six[:40], false},
	} {
		if got := OfKernel(c.frame); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
