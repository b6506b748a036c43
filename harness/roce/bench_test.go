package roce

import (
	"fmt"
	"hash/crc32"
	"net/netip"
	"testing"
)

// writeFrame returns a WRITE MIDDLE packet, the most frequent one of a long transfer.
func writeFrame(payload int) *Frame {
	f := &Frame{
		DstMAC: [6]byte{2, 0, 0, 0, 0, 2}, SrcMAC: [6]byte{2, 0, 0, 0, 0, 1},
		Src: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Dst: netip.AddrFrom4([4]byte{10, 0, 0, 2}),
		TOS: 2, TTL: 64, DF: true, SrcPort: 49152, DstPort: Port,
	}
	f.Packet = Packet{BTH: BTH{Opcode: WriteMiddle, PKey: DefaultPKey, DestQP: 18, PSN: 7},
		Payload: make([]byte, payload), Len: payload}
	for i := range f.Packet.Payload {
		f.Packet.Payload[i] = byte(i * 7)
	}
	return f
}

// overIPv6 moves a frame to IPv6 addresses.
func overIPv6(f *Frame) *Frame {
	f.Src, f.Dst = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	f.ID, f.DF = 0, false
	return f
}

var benchSizes = []int{1024, 4096}

// BenchmarkCRC32 is the lower bound for encoding: the CRC over the bytes that the ICRC covers.
func BenchmarkCRC32(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ip := writeFrame(n).AppendTo(nil)[ethLen:]
			ip = ip[:len(ip)-icrcLen]
			b.SetBytes(int64(len(ip)))
			b.ReportAllocs()
			var sum uint32
			for b.Loop() {
				sum += crc32.ChecksumIEEE(ip)
			}
			if sum == 1 {
				b.Log(sum) // keeps the loop from being removed
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range benchSizes {
		for _, v6 := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/v6=%v", n, v6), func(b *testing.B) {
				f := writeFrame(n)
				if v6 {
					overIPv6(f)
				}
				buf := f.AppendTo(nil)
				b.SetBytes(int64(len(buf)))
				b.ReportAllocs()
				for b.Loop() {
					buf = f.AppendTo(buf[:0])
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, op := range []Opcode{WriteMiddle, WriteOnly, Acknowledge} {
		b.Run(op.String(), func(b *testing.B) {
			f := writeFrame(1024)
			f.Packet.Opcode = op
			buf := f.AppendTo(nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Decode(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckICRC(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			buf := writeFrame(n).AppendTo(nil)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if !CheckICRC(buf) {
					b.Fatal("wrong ICRC")
				}
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	p := writeFrame(1024).Packet
	b.Run("append", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = p.AppendText(buf[:0], TextOptions{})
		}
	})
	b.Run("parse", func(b *testing.B) {
		s := p.String()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParsePacket(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
