package relay

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// batchSize is the maximum number of frames sent in one system call.
const batchSize = 64

// Sender sends frames in order and returns the number sent; fewer than len(frames) if the device is full for the
// moment.
type Sender interface {
	Send(frames [][]byte) (int, error)
}

// outlet is an output of a path, in which frames wait for their departure time.
type outlet struct {
	to      Sender
	queue   queue
	leaving []departure // current batch, taken from the queue; at most batchSize
	frames  [][]byte    // frames of leaving, as Send takes them
	gone    int         // frames of leaving already sent; 0 <= gone <= len(leaving)
}

func newOutlet(to Sender) outlet {
	return outlet{to: to, leaving: make([]departure, 0, batchSize), frames: make([][]byte, 0, batchSize)}
}

// due returns the frames to send now: the unsent rest of the last batch, or else the next batch.
func (o *outlet) due(now vtime.Time) []departure {
	if o.stalled() {
		return o.leaving[o.gone:]
	}
	o.leaving, o.frames, o.gone = o.leaving[:0], o.frames[:0], 0
	for len(o.leaving) < batchSize {
		d, ok := o.queue.pop(now)
		if !ok {
			break
		}
		o.leaving, o.frames = append(o.leaving, d), append(o.frames, d.frame)
	}
	return o.leaving
}

// send sends the frames that due has returned, and returns the number sent.
func (o *outlet) send() (int, error) {
	n, err := o.to.Send(o.frames[o.gone:])
	o.gone += n
	return n, err
}

// stalled reports whether frames of the last batch are unsent because the device was full.
func (o *outlet) stalled() bool { return o.gone < len(o.leaving) }

// retry is the time after which sending to a stalled device is tried again.
const retry = 100 * vtime.Microsecond

// next returns the time of the next send.
func (o *outlet) next(now vtime.Time) vtime.Time {
	if o.stalled() {
		return now.Add(retry)
	}
	return o.queue.next()
}

// waiting returns the number of frames in the outlet that are not sent.
func (o *outlet) waiting() int { return o.queue.len() + len(o.leaving) - o.gone }
