package relay

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// batchSize is how many frames leave in one system call.
const batchSize = 64

// Sender takes frames in order and returns how many it took; fewer than all when it is full for a while.
type Sender interface {
	Send(frames [][]byte) (int, error)
}

// outlet is a way out of a path: frames wait in it for their time.
type outlet struct {
	to      Sender
	queue   queue
	leaving []departure // taken from the queue, about to be sent
	frames  [][]byte    // of leaving, as Send wants them
	gone    int         // how many of them are sent
}

func newOutlet(to Sender) outlet {
	return outlet{to: to, leaving: make([]departure, 0, batchSize), frames: make([][]byte, 0, batchSize)}
}

// due returns the frames to send now: what the device has not taken of the batch before, or the next batch.
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

// send sends what due has returned and reports how much of it is gone.
func (o *outlet) send() (int, error) {
	n, err := o.to.Send(o.frames[o.gone:])
	o.gone += n
	return n, err
}

// stalled reports whether the device has not taken all of the last batch.
func (o *outlet) stalled() bool { return o.gone < len(o.leaving) }

// retry is how long a stalled device is left alone.
const retry = 100 * vtime.Microsecond

// next returns when there is something to send.
func (o *outlet) next(now vtime.Time) vtime.Time {
	if o.stalled() {
		return now.Add(retry)
	}
	return o.queue.next()
}

// waiting counts the frames inside.
func (o *outlet) waiting() int { return o.queue.len() + len(o.leaving) - o.gone }
