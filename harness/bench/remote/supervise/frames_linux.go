package supervise

import (
	"bytes"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// behindAddresses is the offset of the EtherType in a frame.
const behindAddresses = 12

// mostWatched is the longest time for which frames are watched, in milliseconds.
const mostWatched = 10_000

// watchFrames counts the frames with a mark that a network device receives, until one has arrived or the time is over.
func watchFrames(a line.Frames) (any, error) {
	if a.For <= 0 || a.For > mostWatched || len(a.Mark) == 0 {
		return nil, fmt.Errorf("supervise: want a mark, and 1 to %d ms", mostWatched)
	}
	clock := packetio.NewClock(packetio.Monotonic())
	port, err := packetio.Open(a.Network, clock, packetio.Options{Promiscuous: true})
	if err != nil {
		return nil, err
	}
	defer port.Close()
	wait := packetio.NewWaiter(clock, port.Fd())
	var seen line.Seen
	for until := clock.Now().Add(vtime.Duration(a.For) * vtime.Millisecond); clock.Now() < until && seen.Count == 0; {
		if err := wait.Wait(until); err != nil {
			return nil, err
		}
		frames, err := port.Receive()
		if err != nil {
			return nil, err
		}
		for i := range frames {
			if data := frames[i].Data; len(data) > behindAddresses && bytes.HasPrefix(data[behindAddresses:], a.Mark) {
				seen.Count++
				seen.First = bytes.Clone(data[:min(len(data), 128)])
			}
		}
	}
	return seen, nil
}

// sendFrames sends frames on a network device.
func sendFrames(a line.Frames) (any, error) {
	port, err := packetio.Open(a.Network, packetio.NewClock(packetio.Monotonic()), packetio.Options{})
	if err != nil {
		return nil, err
	}
	defer port.Close()
	n, err := port.Send(a.Frames)
	return line.Seen{Count: n}, err
}
