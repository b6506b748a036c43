package capture

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Heads are the frames of a source in memory, without their long payloads, to read them again without the capture. In
// place of a payload that is left out they have zeros; Frame.Sum is its CRC-32. Taps of frames are not kept.
type Heads struct {
	frames [][]head
	bytes  [][]byte // of the frames, each of which is in one chunk
	size   int
}

// shortPayload is the length in bytes of the longest payload that is kept.
const shortPayload = 64

// head is what is kept of a frame beside its bytes.
type head struct {
	second      int64 // Frame.Wall since 1970
	nanosecond  int32
	length      int32 // of Frame.Raw
	front       int32 // Frame.Kept, or the bytes before the payload that is left out
	payload     int32 // bytes of that payload; 0 for none
	sum         uint32
	way         Direction
	sound       bool
	anotherPort bool
}

// headBytes is the memory that a head takes.
const headBytes = 32

// back returns the bytes behind the payload that is left out.
func (x *head) back() int32 {
	if x.payload == 0 {
		return 0
	}
	return x.length - x.front - x.payload
}

// Size returns the bytes of memory that the frames take.
func (k *Heads) Size() int { return k.size }

// Add adds a frame; h has its headers if it is Sound. Frames that are not are kept whole, and so are messages of the
// communication manager, and frames with a UDP checksum that a rule compares.
func (k *Heads) Add(f *Frame, h *roce.Frame) {
	x := head{second: f.Wall.Unix(), nanosecond: int32(f.Wall.Nanosecond()), length: int32(len(f.Raw)),
		front: int32(f.Kept), sum: f.Sum, way: f.Way, sound: f.Sound, anotherPort: f.AnotherPort}
	if p := &h.Packet; f.Sound && p.Len > shortPayload && p.DestQP != roce.CMQueuePair && !h.SumsPayload(f.Raw) {
		x.front, x.payload = int32(h.HeadLen()), int32(p.Len)
	}
	n := int(x.front + x.back())
	heads, b := room(&k.frames, 1), room(&k.bytes, n)
	*heads = append(*heads, x)
	*b = append(append(*b, f.Raw[:x.front]...), f.Raw[len(f.Raw)-int(x.back()):]...)
	k.size += headBytes + n
}

// room returns the last chunk, or a new one if it has no room for n more. Later chunks are larger, up to a limit.
func room[T any](chunks *[][]T, n int) *[]T {
	const least, doubled = 16, 10
	at := len(*chunks)
	if at == 0 || cap((*chunks)[at-1])-len((*chunks)[at-1]) < n {
		*chunks = append(*chunks, make([]T, 0, max(n, least<<min(at, doubled))))
		at++
	}
	return &(*chunks)[at-1]
}

// Sums returns Frame.Sum of the frames, those to another port left out.
func (k *Heads) Sums() (list []uint32) {
	for _, chunk := range k.frames {
		for i := range chunk {
			if !chunk[i].anotherPort {
				list = append(list, chunk[i].sum)
			}
		}
	}
	return list
}

// Source returns a source of the frames; end is its error after the last one.
func (k *Heads) Source(end error) Source {
	return &heads{frames: k.frames, chunks: k.bytes, end: end}
}

// heads is a source of kept frames.
type heads struct {
	frames [][]head
	chunks [][]byte
	at     int    // index of the next frame in its chunk
	bytes  []byte // the rest of the chunk of the next frame
	raw    []byte // the frame that was returned last, of which only the bytes that were kept are not zero
	last   *head
	end    error
}

// Next implements Source.
func (s *heads) Next(f *Frame) error {
	if len(s.frames) > 0 && s.at == len(s.frames[0]) {
		s.frames, s.at = s.frames[1:], 0
	}
	if len(s.frames) == 0 {
		return s.end
	}
	x := &s.frames[0][s.at]
	s.at++
	*f = Frame{Wall: time.Unix(x.second, int64(x.nanosecond)).UTC(), Raw: s.frame(x), Way: x.way,
		Kept: int(x.front + x.payload + x.back()), Sound: x.sound, Sum: x.sum, AnotherPort: x.anotherPort}
	return nil
}

// frame returns the bytes of a frame.
func (s *heads) frame(x *head) []byte {
	if p := s.last; p != nil {
		clear(s.raw[:p.front])
		clear(s.raw[p.length-p.back():])
	}
	if s.last = x; int(x.length) > cap(s.raw) {
		s.raw = make([]byte, x.length)
	}
	s.raw = s.raw[:x.length]
	if len(s.bytes) == 0 && x.front > 0 {
		s.bytes, s.chunks = s.chunks[0], s.chunks[1:]
	}
	copy(s.raw, s.bytes[:x.front])
	s.bytes = s.bytes[x.front:]
	copy(s.raw[x.length-x.back():], s.bytes)
	s.bytes = s.bytes[x.back():]
	return s.raw
}
