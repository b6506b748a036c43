package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
)

// script returns a connection as segments (handshake, start-up frames, and FPDUs of direction 0 cut anywhere) and the
// text of the FPDUs.
func script(first tcp.Seq, markers bool) (segs []sent, want []string) {
	add := func(dir int, seq tcp.Seq, flags tcp.Flags, data []byte) {
		h := tcp.Header{Seq: seq, Flags: flags}
		b := make([]byte, h.Len())
		h.Put(b)
		segs = append(segs, sent{dir, append(b, data...)})
	}
	add(0, first, tcp.SYN, nil)
	add(1, 500, tcp.SYN|tcp.ACK, nil)
	req := (&mpa.Setup{CRC: true, Revision: 1}).Append(nil)
	rep := (&mpa.Setup{Reply: true, Markers: markers, Revision: 1}).Append(nil)
	add(0, first.Add(1), tcp.ACK, req)
	add(1, 501, tcp.ACK, rep)
	var b []byte
	f := mpa.Framer{Markers: markers, CRC: true}
	for i, n := range []int{10, 700, 0, 1500, 3} {
		seg := iwarp.Segment{Opcode: iwarp.Write, Tagged: true, Last: true, DDP: 1, RDMAP: 1, STag: uint32(i),
			Payload: make([]byte, n)}
		b = f.Append(b, seg.AppendHeader(nil), seg.Payload)
		want = append(want, seg.String())
	}
	at := first.Add(21)
	for n := 333; len(b) > 0; n += 17 {
		n = min(n, len(b))
		add(0, at, tcp.ACK, b[:n])
		at, b = at.Add(n), b[n:]
	}
	add(0, at, tcp.FIN|tcp.ACK, nil)
	return segs, want
}

type sent struct {
	dir int
	seg []byte
}

// TestUnitsComeInOrder plays the segments in order, twice each, and shuffled after the start-up frames.
func TestUnitsComeInOrder(t *testing.T) {
	for _, first := range []tcp.Seq{0, 0x7FFFFF00, 0xFFFFFF00} {
		for _, markers := range []bool{false, true} {
			segs, want := script(first, markers)
			double := slices.Clone(segs[:4])
			for _, s := range segs[4:] {
				double = append(double, s, s)
			}
			shuffled := slices.Clone(segs)
			r := rand.New(rand.NewPCG(1, 2))
			r.Shuffle(len(segs)-4, func(i, j int) { shuffled[4+i], shuffled[4+j] = shuffled[4+j], shuffled[4+i] })
			for name, order := range map[string][]sent{"in order": segs, "double": double, "shuffled": shuffled} {
				t.Run(fmt.Sprintf("%d/%v/%s", first, markers, name), func(t *testing.T) {
					var got []string
					setups := 0
					c := Conn{On: func(dir int, u *Unit) {
						switch {
						case u.Setup != nil:
							setups++
						case u.Err != nil || !u.FPDU.CRCOK:
							t.Errorf("%v at %d", u.Err, u.From)
						default:
							got = append(got, u.Segment.String())
						}
					}}
					again := 0
					for _, s := range order {
						if a, ok := c.Add(s.dir, s.seg); !ok {
							t.Fatal("refused")
						} else if a.Again {
							again++
						}
					}
					if !slices.Equal(got, want) || setups != 2 || c.Markers(0) != markers || !c.CRC() ||
						!c.Closed(0) || c.Closed(1) {
						t.Errorf("%d setups and %q, want %q", setups, got, want)
					}
					if c.Next(0) != c.High(0) || (name == "double") != (again > 0) {
						t.Errorf("read to %d of %d, %d again", c.Next(0), c.High(0), again)
					}
				})
			}
		}
	}
}

// TestHoleHoldsBack: no unit after a hole is reported until it is filled.
func TestHoleHoldsBack(t *testing.T) {
	segs, want := script(7, true)
	got := 0
	c := Conn{On: func(_ int, u *Unit) {
		if u.FPDU != nil {
			got++
		}
	}}
	for i, s := range segs {
		if i == 5 {
			continue
		}
		if a, _ := c.Add(s.dir, s.seg); a.Ahead != (i > 5 && a.To > a.From) {
			t.Errorf("segment %d: ahead %v", i, a.Ahead)
		}
	}
	if got != 1 {
		t.Errorf("%d FPDUs before the hole, want 1", got)
	}
	c.Add(0, segs[5].seg)
	if got != len(want) {
		t.Errorf("%d FPDUs after it is filled, want %d", got, len(want))
	}
}

// TestBrokenStreamIsToldOnce: a stream with garbage and a wrong marker is one error.
func TestBrokenStreamIsToldOnce(t *testing.T) {
	segs, _ := script(7, true)
	segs[5].seg[len(segs[5].seg)-150] ^= 0x55 // a marker is at 512 of the stream
	broken := 0
	c := Conn{On: func(_ int, u *Unit) {
		if u.Err != nil {
			broken++
		}
	}}
	for _, s := range segs {
		for i := range s.seg[20:] {
			if s.dir == 0 && len(s.seg) > 300 {
				s.seg[20+i] ^= 0xA5
			}
		}
		c.Add(s.dir, s.seg)
	}
	if broken != 1 || c.Err(0) == nil || c.Next(0) != c.High(0) {
		t.Errorf("told %d times, %v, read to %d of %d", broken, c.Err(0), c.Next(0), c.High(0))
	}
	var d Conn
	if _, ok := d.Add(0, segs[4].seg); ok {
		t.Error("a stream without its beginning is read")
	}
	if _, ok := d.Add(0, nil); ok {
		t.Error("nothing passes for a segment")
	}
}
