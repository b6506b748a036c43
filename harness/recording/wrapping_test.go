package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// be and the functions below write the headers of tunnels as in their specifications, without code of the product.
var be = binary.BigEndian

func under(kind uint16, b ...[]byte) []byte {
	return bytes.Join(
		append([][]byte{{2, 0, 0, 0, 0, 0x63, 2, 0, 0, 0, 0, 0x64}, be.AppendUint16(nil, kind)}, b...), nil)
}

func inIP(proto byte, b ...[]byte) []byte {
	body := bytes.Join(b, nil)
	h := []byte{0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, proto, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}
	be.PutUint16(h[2:], uint16(len(h)+len(body)))
	return append(h, body...)
}

func inIP6(next byte, b ...[]byte) []byte {
	body := bytes.Join(b, nil)
	h := make([]byte, 40)
	h[0], h[6], h[7], h[23], h[39] = 0x60, next, 64, 1, 2
	be.PutUint16(h[4:], uint16(len(body)))
	return append(h, body...)
}

func inUDP(port int, b ...[]byte) []byte {
	body := bytes.Join(b, nil)
	h := be.AppendUint16(be.AppendUint16([]byte{0xC0, 1}, uint16(port)), uint16(8+len(body)))
	return append(append(h, 0, 0), body...)
}

func inGRE(flags byte, kind uint16, b ...[]byte) []byte {
	h := be.AppendUint16([]byte{flags, 0}, kind)
	for _, bit := range []byte{0x80, 0x20, 0x10} {
		if flags&bit != 0 {
			h = append(h, 0, 0, 0, 9)
		}
	}
	return append(h, bytes.Join(b, nil)...)
}

// ip returns the packet of a frame without VLAN tag, kind its EtherType, and family its address family on BSD.
func ip(f []byte) []byte { return f[14:] }

func kind(f []byte) uint16 { return be.Uint16(f[12:]) }

func family(f []byte) byte {
	if kind(f) == 0x86DD {
		return 28
	}
	return 2
}

// proto returns the IP protocol number of a frame's packet inside another.
func proto(f []byte) byte {
	if kind(f) == 0x86DD {
		return 41
	}
	return 4
}

func cookedHeader(f []byte) []byte {
	return append([]byte{0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}, f[12:14]...)
}

func sll2Header(f []byte) []byte {
	return append(append([]byte{}, f[12:14]...), 0, 0, 0, 0, 0, 3, 0, 1, 3, 6, 2, 0, 0, 0, 0, 1, 0, 0)
}

var wrappings = []struct {
	name string
	link layers.LinkType
	wrap func(f []byte) []byte
}{
	{"bare", 1, func(f []byte) []byte { return f }},
	{"service VLAN", 1, func(f []byte) []byte { return tag(f, 0x88A8) }},
	{"QinQinQ", 1, func(f []byte) []byte { return tag(tag(tag(f, 0x88A8), 0x8100), 0x9100) }},
	{"FCS", 1, func(f []byte) []byte {
		return binary.LittleEndian.AppendUint32(f[:len(f):len(f)], crc32.ChecksumIEEE(f))
	}},
	{"trailer", 1, func(f []byte) []byte { return append(f[:len(f):len(f)], "switch 17, port 4"...) }},
	{"SNAP", 1, func(f []byte) []byte {
		return under(uint16(len(f)-6), []byte{0xAA, 0xAA, 3, 0, 0, 0}, f[12:])
	}},
	{"raw IP 101", 101, ip},
	{"raw IP 12", 12, ip},
	{"raw IP 14", 14, ip},
	{"NULL", 0, func(f []byte) []byte { return append([]byte{family(f), 0, 0, 0}, ip(f)...) }},
	{"LOOP", 108, func(f []byte) []byte { return append([]byte{0, 0, 0, family(f)}, ip(f)...) }},
	{"SLL", 113, func(f []byte) []byte { return append(cookedHeader(f), ip(f)...) }},
	{"SLL2", 276, func(f []byte) []byte { return append(sll2Header(f), ip(f)...) }},
	{"MPLS link", 219, func(f []byte) []byte { return append([]byte{0, 1, 0x01, 64}, ip(f)...) }},
	{"VXLAN", 1, func(f []byte) []byte {
		return under(0x0800, inIP(17, inUDP(4789, []byte{8, 0, 0, 0, 0, 0, 7, 0}, f)))
	}},
	{"VXLAN over IPv6, tagged", 1, func(f []byte) []byte {
		return tag(under(0x86DD, inIP6(17, inUDP(8472, []byte{8, 0, 0, 0, 0, 0, 7, 0}, tag(f, 0x88A8)))), 0x8100)
	}},
	{"VXLAN, outer FCS", 1, func(f []byte) []byte {
		return append(under(0x0800, inIP(17, inUDP(4789, []byte{8, 0, 0, 0, 0, 0, 7, 0}, f))), 1, 2, 3, 4)
	}},
	{"VXLAN-GPE", 1, func(f []byte) []byte {
		return under(0x0800, inIP(17, inUDP(4790, []byte{12, 0, 0, 3, 0, 0, 7, 0}, f)))
	}},
	{"VXLAN, cooked", 113, func(f []byte) []byte {
		return append(cookedHeader(under(0x0800)), inIP(17, inUDP(4789, []byte{8, 0, 0, 0, 0, 0, 7, 0}, f))...)
	}},
	{"Geneve", 1, func(f []byte) []byte {
		return under(0x0800,
			inIP(17, inUDP(6081, []byte{2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 0x80, 1, 'a', 'b', 'c', 'd'}, f)))
	}},
	{"Geneve, IP", 1, func(f []byte) []byte {
		return under(0x0800, inIP(17, inUDP(6081, []byte{0, 0}, f[12:14], []byte{0, 0, 7, 0}, ip(f))))
	}},
	{"GRE, IP", 1, func(f []byte) []byte { return under(0x0800, inIP(47, inGRE(0, kind(f), ip(f)))) }},
	{"NVGRE", 1, func(f []byte) []byte { return under(0x0800, inIP(47, inGRE(0x20, 0x6558, f))) }},
	{"GRE, all fields, options before", 1, func(f []byte) []byte {
		return under(0x86DD, inIP6(60, []byte{47, 0, 4, 1, 4, 1, 1, 0}, inGRE(0xB0, 0x6558, f)))
	}},
	{"ERSPAN I", 1, func(f []byte) []byte { return under(0x0800, inIP(47, inGRE(0, 0x88BE, f))) }},
	{"ERSPAN II", 1, func(f []byte) []byte {
		return under(0x0800, inIP(47, inGRE(0x10, 0x88BE, []byte{0x10, 7, 0, 5, 0, 0, 0, 3}, f)))
	}},
	{"ERSPAN III", 1, func(f []byte) []byte {
		return under(0x0800, inIP(47, inGRE(0x10, 0x22EB, append([]byte{0x20, 7}, make([]byte, 10)...), f)))
	}},
	{"ERSPAN III, long", 1, func(f []byte) []byte {
		return under(0x0800, inIP(47, inGRE(0x10, 0x22EB, append([]byte{0x20, 7, 11: 1}, make([]byte, 8)...), f)))
	}},
	{"MPLS", 1, func(f []byte) []byte { return under(0x8847, []byte{0, 1, 0, 64, 0, 2, 1, 64}, ip(f)) }},
	{"MPLS, Ethernet", 1, func(f []byte) []byte { return under(0x8847, []byte{0, 2, 1, 64}, f) }},
	{"MPLS, Ethernet, control word", 1, func(f []byte) []byte {
		return under(0x8848, []byte{0, 2, 1, 64, 0, 0, 0, 0}, f)
	}},
	{"MPLS in UDP", 1, func(f []byte) []byte {
		return under(0x0800, inIP(17, inUDP(6635, []byte{0, 2, 1, 64}, ip(f))))
	}},
	{"IP in IP", 1, func(f []byte) []byte { return under(0x0800, inIP(proto(f), ip(f))) }},
	{"IP in IPv6", 12, func(f []byte) []byte { return inIP6(proto(f), ip(f)) }},
	{"VXLAN in GRE in MPLS", 1, func(f []byte) []byte {
		return under(0x8847, []byte{0, 2, 1, 64},
			inIP(47, inGRE(0, 0x0800, inIP(17, inUDP(4789, []byte{8, 0, 0, 0, 0, 0, 7, 0}, f)))))
	}},
}

// tag inserts a VLAN tag before the others of a frame.
func tag(f []byte, kind uint16) []byte {
	return bytes.Join([][]byte{f[:12], be.AppendUint16(nil, kind), {0x60, 0x64}, f[12:]}, nil)
}

// wrapped returns the recording and the sights of frames that a link or tunnel carried to the tap, possibly cut by the
// capture. It leaves out MAC addresses, tags and trailers, which are the carrier's.
func wrapped(t *testing.T, frames []capture.Frame, link layers.LinkType, cut int,
	wrap func([]byte) []byte) (Recording, []string) {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(1<<16, link); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		raw := wrap(f.Raw)
		ci := gopacket.CaptureInfo{Timestamp: f.Wall, Length: len(raw), CaptureLength: len(raw) - cut}
		if err := w.WritePacket(ci, raw[:len(raw)-cut]); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Read(path, Stated{Tap: Tap{place: atRequester}})
	if err != nil {
		t.Fatal(err)
	}
	list := sightsOf(t, &r.Header, r.Play)
	for i, s := range list {
		head, tail, _ := strings.Cut(s, " raw=")
		_, list[i], _ = strings.Cut(tail, " ")
		list[i] = head + " " + list[i]
	}
	return r, list
}

// lengths leaves out the length on the wire, which includes tags and trailers.
func lengths(list []string, name string) (out []string) {
	for _, s := range list {
		if !strings.HasPrefix(name, "VXLAN,") {
			s, _, _ = strings.Cut(s, " wire=")
		}
		out = append(out, s)
	}
	return out
}

// A frame has the same sights whatever carried it to the tap.
func TestWrappings(t *testing.T) {
	for _, addr := range []string{"", "qp A addr=2001:db8::1\nqp B addr=2001:db8::2\n"} {
		f := tracetest.Parse(t, addr+tracetest.Gap, 0)
		frames := tracetest.FramesAt(f, trace.A)
		r, want := wrapped(t, frames, 1, 0, func(f []byte) []byte { return f })
		for _, w := range wrappings {
			got, list := wrapped(t, frames, w.link, 0, w.wrap)
			if diff := cmp.Diff(lengths(want, w.name), lengths(list, w.name)); diff != "" {
				t.Errorf("%s:\n%s", w.name, diff)
			}
			if a, b := fmt.Sprint(r.Header), fmt.Sprint(got.Header); a != b {
				t.Errorf("%s: header %s, want %s", w.name, b, a)
			}
		}
	}
}

// A mirror that truncates frames and a capture that truncates frames give the same part of a frame.
func TestCutByTheMirror(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_FIRST psn=+0 len=1024\nA>B SEND_LAST psn=+1 len=800 A\nB>A ACK psn=+1 msn=1\n", 0)
	frames := tracetest.FramesAt(f, trace.A)[:2]
	_, want := wrapped(t, frames, 1, 600, func(f []byte) []byte { return f })
	_, got := wrapped(t, frames, 1, 0, func(f []byte) []byte {
		return under(0x0800, inIP(47, inGRE(0, 0x88BE, f[:len(f)-600])))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, got = wrapped(t, frames, 1, 600, wrappings[14].wrap); !cmp.Equal(want, got) {
		t.Errorf("%s, cut:\n%s", wrappings[14].name, cmp.Diff(want, got))
	}
}
