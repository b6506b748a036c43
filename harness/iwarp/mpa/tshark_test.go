package mpa

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
)

// talk is a TCP connection as captured frames.
type talk struct {
	frames [][]byte
	seq    [2]tcp.Seq
}

// say adds a segment from one end, which acknowledges everything before.
func (c *talk) say(from int, flags tcp.Flags, data []byte) {
	addr := [2][4]byte{{10, 77, 0, 1}, {10, 77, 0, 2}}
	port := [2]uint16{49152, 4792}
	h := tcp.Header{SrcPort: port[from], DstPort: port[1-from], Seq: c.seq[from], Ack: c.seq[1-from],
		Flags: flags, Window: 65535}
	c.seq[from] = c.seq[from].Add(h.Span(len(data)))
	seg := make([]byte, h.Len(), 65600)
	h.Put(seg)
	seg = append(seg, data...)
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(seg)))
	ip = append(append(ip, addr[from][:]...), addr[1-from][:]...)
	frame := slices.Concat(make([]byte, 12), []byte{8, 0}, ip, seg)
	roce.MendTCP(frame)
	c.frames = append(c.frames, frame)
}

func (c *talk) pcap() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xA1B2C3D4)
	b = le.AppendUint32(b, 2|4<<16)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, 1<<18)
	b = le.AppendUint32(b, 1)
	for i, f := range c.frames {
		b = le.AppendUint32(b, uint32(i))
		b = append(b, 0, 0, 0, 0)
		b = le.AppendUint32(b, uint32(len(f)))
		b = le.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// TestTsharkAgrees compares this package with tshark: the lengths of the ULPDUs, the pointers of the markers, and good
// CRCs.
func TestTsharkAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts tshark")
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("no tshark, the independent dissector")
	}
	lens := []int{40, 1000, 1420, 478, 22, 1420}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			c := talk{seq: [2]tcp.Seq{1000, 2000}}
			c.say(0, tcp.SYN, nil)
			c.say(1, tcp.SYN|tcp.ACK, nil)
			c.say(0, tcp.ACK, nil)
			c.say(0, tcp.ACK|tcp.PSH, (&Setup{Markers: m.markers, CRC: m.crc, Revision: Revision}).Append(nil))
			c.say(1, tcp.ACK|tcp.PSH, (&Setup{Reply: true, Markers: m.markers, CRC: m.crc,
				Revision: Revision}).Append(nil))
			f := Framer{Markers: m.markers, CRC: m.crc}
			var want []string
			for i, n := range lens {
				b := ulpdu(n, i)
				copy(b, []byte{0xC1, 0x40}) // a tagged DDP segment, the last of a WRITE
				from := f.pos
				fpdu := f.Append(nil, nil, b)
				c.say(0, tcp.ACK|tcp.PSH, fpdu)
				want = append(want, row(&f, from, n, fpdu))
			}
			if got := dissect(t, tshark, &c); got != strings.Join(want, "\n") {
				t.Errorf("tshark reads\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

// dissect returns tshark's line for each FPDU: ULPDU length, pointers of the markers, and the verdict on the CRC.
func dissect(t *testing.T, tshark string, c *talk) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mpa.pcap")
	if err := os.WriteFile(file, c.pcap(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tshark, "-r", file, "-Y", "iwarp_mpa.fpdu", "-O", "iwarp_mpa")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var lines []string
	for _, l := range strings.Split(string(out), "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(l), ": ")
		switch name {
		case "ULPDU length":
			lines = append(lines, value)
		case "FPDU back pointer", "CRC", "CRC check":
			lines[len(lines)-1] += ", " + value
		}
	}
	return strings.Join(lines, "\n")
}

// row is the expected line of dissect for an FPDU at offset from of the stream.
func row(f *Framer, from uint64, n int, fpdu []byte) string {
	text := fmt.Sprintf("%d bytes, 0x%08x", n, binary.BigEndian.Uint32(fpdu[len(fpdu)-CRCLen:]))
	if f.CRC {
		text += " (Good CRC32)"
	}
	start := from
	for at := from; f.Markers && at < f.pos; at++ {
		switch {
		case at%MarkerEvery != 0:
		case at == from:
			text, start = text+", 0 bytes", at+MarkerLen
		default:
			text += fmt.Sprintf(", %d bytes", at-start)
		}
	}
	return text
}
