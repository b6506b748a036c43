package netns

import (
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// outbox is the encoded frames that the device has not taken yet; its buffers are reused.
type outbox struct {
	emit    func(frame []byte) []byte // has the last word on the bytes of a frame
	buffers [][]byte
	frames  [][]byte
}

// outboxSize is a batch of the device.
const outboxSize = 64

func (o *outbox) full() bool    { return len(o.frames) == outboxSize }
func (o *outbox) pending() bool { return len(o.frames) > 0 }

// add encodes a frame into a buffer that is free.
func (o *outbox) add(f *roce.Frame) {
	if len(o.buffers) == 0 {
		o.buffers = append(o.buffers, make([]byte, 0, 4096+256))
	}
	b := o.buffers[len(o.buffers)-1]
	o.buffers = o.buffers[:len(o.buffers)-1]
	o.frames = append(o.frames, o.emit(f.AppendTo(b[:0])))
}

// flush hands the frames to the device as far as it takes them.
func (o *outbox) flush(port *packetio.Port) error {
	if len(o.frames) == 0 {
		return nil
	}
	n, err := port.Send(o.frames)
	o.buffers = append(o.buffers, o.frames[:n]...)
	o.frames = o.frames[:copy(o.frames, o.frames[n:])]
	return err
}

// pacer lets packets out at the line rate, as the port of a NIC does. A loop that woke up late may catch up by a few
// packets, or a thread that sleeps in whole scheduling slots would never fill the line; what begins after a rest begins at
// the line rate.
type pacer struct {
	rate   unit.Rate
	free   vtime.Time
	credit vtime.Duration
	rested bool
}

// catchUp bounds the burst after a late wake-up: 32 packets of 1 KiB, and no more than a millisecond.
const catchUp = 32 * 1106

func newPacer(rate unit.Rate) pacer {
	return pacer{rate: rate, credit: min(rate.Time(catchUp), vtime.Millisecond)}
}

func (p *pacer) ready(now vtime.Time) bool { return p.free <= now }

// rest says that there was nothing to send.
func (p *pacer) rest() { p.rested = true }

// spend takes the line for a packet of so many layer-1 bytes.
func (p *pacer) spend(now vtime.Time, wireBytes int) {
	earliest := now.Add(-p.credit)
	if p.rested {
		earliest = now
	}
	p.free, p.rested = max(p.free, earliest).Add(p.rate.Time(wireBytes)), false
}

// eventFile keeps what a process reports as the events of an NDJSON trace.
type eventFile struct {
	file *os.File
	out  *ndjson.Writer
}

func newEventFile(role, path string, h trace.Header) (*eventFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s: events: %w", role, err)
	}
	w, err := ndjson.NewWriter(f, &h)
	return &eventFile{f, w}, err
}

// Event implements drive.Observer.
func (e *eventFile) Event(ev *trace.Event) { e.out.Event(ev) }

// end completes the file: nothing is reported after it.
func (e *eventFile) end(at vtime.Time) error {
	e.out.End(at)
	return e.out.Flush()
}
