package remote

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
)

// Offset is how far a host's wall clock is from this machine's, to within half the round trip of the question.
type Offset struct {
	Offset time.Duration // ahead of here
	Error  time.Duration // it is this much more or less
}

// Clock asks for a host's clock a few times, and keeps the answer that came soonest.
func (h *Host) Clock(times int) (best Offset, err error) {
	for i := range times {
		var c line.Clock
		began := time.Now()
		if err := h.Call(line.OpClock, nil, &c); err != nil {
			return best, err
		}
		half := time.Since(began) / 2
		if i == 0 || half < best.Error {
			best = Offset{time.Unix(0, c.Wall).Sub(began.Round(0).Add(half)), half}
		}
	}
	return best, nil
}

// SendFrames puts raw frames on the device's end of the cable.
func (h *Host) SendFrames(frames ...[]byte) error {
	return h.Call(line.OpSendFrame, line.Frames{Network: h.At.Interface, Frames: frames}, nil)
}

// WatchFrames counts the frames that arrive at the device's end of the cable, with a mark behind the addresses, until one has come or
// the time is over.
func (h *Host) WatchFrames(mark []byte, patience time.Duration) (int, error) {
	var seen line.Seen
	err := h.Call(line.OpWatchFrames, line.Frames{Network: h.At.Interface, Mark: mark, For: int(patience.Milliseconds())}, &seen)
	return seen.Count, err
}
