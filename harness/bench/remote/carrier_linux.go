package remote

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// laid is the configuration of a cable, the first line that its process reads.
type laid struct {
	Base  int64      `json:"base_ns"` // time zero of the bench, CLOCK_MONOTONIC
	Inner string     `json:"inner"`   // the device's end on this machine, in the namespace of the process
	Outer string     `json:"outer"`   // network device of the cable, whose socket is descriptor atOuter
	Side  trace.Side `json:"side"`    // side of the device
	Here  pair       `json:"here"`    // Ethernet addresses on the link
	There pair       `json:"there"`   // Ethernet addresses on the cable
	Echo  bool       `json:"echo"`    // measure the delay of the far kernel by echo requests
	PTP   int        `json:"ptp"`     // index of the PTP clock by which the near port stamps frames; or noPTP
}

// noPTP is the index of no PTP clock.
const noPTP = -1

// atOuter is the descriptor of the socket that the process of a cable inherits.
const atOuter = 3

// The orders for the process of a cable, one word per line; each is answered by the counters so far.
const (
	cableBegin = "begin" // the run begins: from here on delays count
	cableEnd   = "end"   // the run ends
	cableCount = "count"
	cableStop  = "stop"
)

// carried holds the counters of a cable.
type carried struct {
	Sent     uint64 `json:"sent"`     // frames to the device, of any kind
	Received uint64 `json:"received"` // frames from the device, of any kind

	// Totals; zero until the cable has stopped.
	conduct
	Deaf    vtime.Duration `json:"deaf,omitempty"`    // longest time without an answer to an echo request
	Answers int            `json:"answers,omitempty"` // answers to echo requests

	Error string `json:"error,omitempty"`
}

// conduct holds the losses and delays of the goroutine that carries.
type conduct struct {
	Lost     uint64         `json:"lost,omitempty"`     // frames that one of the two ends did not accept
	Late     vtime.Duration `json:"late,omitempty"`     // longest time of a frame between cable and link
	Realtime bool           `json:"realtime,omitempty"` // the goroutine had priority over ordinary threads
	stamped
}

// carrier joins the device's end of a network on this machine to the real cable, in both directions: frames from the
// device appear to be sent by that end, and frames that arrive at the end go to the device. The IP addresses are those
// of the bench, because the ICRC covers them. The device keeps its own Ethernet address, its peer has one that exists
// on the cable only, and the carrier replaces both.
type carrier struct {
	inner, outer *packetio.Port
	here, there  pair // Ethernet addresses on the link, and on the cable
	clock        *packetio.Clock
	stop         atomic.Bool // carry must return
	running      atomic.Bool // a run is in progress: delays count

	sent, received atomic.Uint64 // frames to the device, and from it, of any kind

	// Only the goroutine that carries uses these fields until it has ended.
	conduct
	list     [][]byte // frames being sent
	watching bool     // the last value of running that carry has seen
	echoes   echoes
	ptp      *ptp // nil without stamps of the hardware
}

// spareMemory is the memory limit of the process of a cable, above which it collects garbage after all.
const spareMemory = 128 << 20

// CableMain is the body of the process of a cable, which was started in the namespace of the device's end. It reads the
// configuration, then orders, and ends with its input. It is a separate process so that neither the garbage collector
// nor the checking of rules delays frames, and so that its priority delays no other goroutine.
func CableMain(in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	var l laid
	if !lines.Scan() {
		return errors.Join(errors.New("remote: cable: no first line on standard input"), lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
		return fmt.Errorf("remote: cable: first line: %w", err)
	}
	c, err := l.open()
	if err != nil {
		_ = answers.Encode(carried{Error: err.Error()}) // the caller returns it as well
		return err
	}
	debug.SetGCPercent(-1) // an echo request allocates little, and a run is short
	debug.SetMemoryLimit(spareMemory)
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // carry occupies one
	ended := make(chan error, 1)
	go func() { ended <- c.carry() }()
	if err := answers.Encode(c.count()); err != nil {
		return errors.Join(err, c.close(ended))
	}
	return c.obey(lines, answers, ended)
}

// open opens the sockets of both ends.
func (l *laid) open() (*carrier, error) {
	c := &carrier{here: l.Here, there: l.There, clock: packetio.NewClock(l.Base)}
	if l.Echo {
		c.echoes = newEchoes(l.Side, l.There)
	}
	c.outer = packetio.Inherit(atOuter, l.Outer, c.clock)
	var err error
	if l.PTP != noPTP {
		if c.ptp, err = openPTP(l.PTP); err != nil {
			return nil, err
		}
	}
	c.inner, err = packetio.Open(l.Inner, c.clock, packetio.Options{})
	return c, err
}

// obey executes orders until the stop order, the end of the input, or the end of carry.
func (c *carrier) obey(lines *bufio.Scanner, answers *json.Encoder, ended chan error) error {
	for lines.Scan() {
		switch order := lines.Text(); order {
		case cableBegin, cableEnd:
			c.running.Store(order == cableBegin)
		case cableStop:
			err := c.close(ended)
			whole := c.whole()
			if err != nil {
				whole.Error = err.Error()
			}
			return cmp.Or(answers.Encode(whole), err)
		case cableCount:
		default:
			err := fmt.Errorf("remote: cable: order %s: unknown; want begin, end, count or stop",
				quote.Line(order, quote.Name))
			_ = answers.Encode(carried{Error: err.Error()}) // the caller returns it as well
			return errors.Join(err, c.close(ended))
		}
		if len(ended) > 0 { // carry has ended
			break
		}
		if err := answers.Encode(c.count()); err != nil {
			return errors.Join(err, c.close(ended))
		}
	}
	return c.close(ended)
}

// count returns the counters so far.
func (c *carrier) count() carried { return carried{Sent: c.sent.Load(), Received: c.received.Load()} }

// whole returns the totals, after carry has ended.
func (c *carrier) whole() carried {
	w := c.count()
	w.conduct, w.Deaf, w.Answers = c.conduct, c.echoes.longest, c.echoes.answers
	return w
}

// close ends carry, adds the frames that the kernel has dropped, and closes both ends.
func (c *carrier) close(ended chan error) error {
	c.stop.Store(true)
	err := <-ended
	for _, p := range []*packetio.Port{c.inner, c.outer} {
		counts, countErr := p.Counts()
		c.Lost += counts.Dropped
		err = cmp.Or(err, countErr, p.Close())
	}
	return err
}

// carry carries frames until stop is set.
func (c *carrier) carry() error {
	if err := packetio.LockThread(); err != nil {
		return err
	}
	c.Realtime = packetio.Realtime(packetio.OfLink) == nil
	wait := packetio.NewWaiter(c.clock, c.inner.Fd(), c.outer.Fd())
	wait.KeepProcessor()
	for !c.stop.Load() {
		if err := wait.Wait(c.watch()); err != nil {
			return err
		}
		if err := c.exchange(); err != nil {
			return err
		}
	}
	return nil
}

// idle is the longest interval at which carry looks whether to stop, or whether the run has begun.
const idle = 5 * vtime.Millisecond

// watch processes the begin or the end of the run, and returns the time until which carry need only wait for frames.
func (c *carrier) watch() vtime.Time {
	now, running := c.clock.Now(), c.running.Load()
	switch {
	case running && !c.watching:
		c.echoes.begin(now)
	case !running && c.watching:
		c.echoes.end(now)
	}
	if c.watching = running; running {
		return min(now.Add(idle), c.echoes.next)
	}
	return now.Add(idle)
}

// exchange carries the waiting frames, in both directions.
func (c *carrier) exchange() error {
	out, err := c.inner.Receive()
	if err == nil {
		err = c.pass(c.outer, out, c.toDevice)
	}
	if err == nil && c.watching {
		err = c.ask()
	}
	if err != nil {
		return err
	}
	in, err := c.outer.Receive()
	if err != nil {
		return err
	}
	c.received.Add(uint64(len(in)))
	for i := range in {
		c.echoes.hear(in[i].Data, c.clock.Now())
	}
	if c.ptp != nil && c.watching {
		if err := c.ptp.compare(in, c.clock, &c.stamped); err != nil {
			return err
		}
	}
	return c.pass(c.inner, in, c.fromDevice)
}

// ask sends an echo request if one is due.
func (c *carrier) ask() error {
	request, err := c.echoes.due(c.clock.Now())
	if request == nil || err != nil {
		return err
	}
	c.list = append(c.list[:0], request)
	n, err := c.outer.Send(c.list) // a request for which there is no room is repeated later
	c.sent.Add(uint64(n))
	return err
}

// pass sends those frames that belong on the other side to it.
func (c *carrier) pass(to *packetio.Port, frames []packetio.Packet, belongs func([]byte) bool) error {
	list := c.list[:0]
	for i := range frames {
		if belongs(frames[i].Data) {
			list = append(list, frames[i].Data)
		}
	}
	if c.list = list; len(list) > 0 && c.watching {
		c.echoes.passed(c.clock.Now())
	}
	defer c.passed(frames)
	for patience := 0; len(list) > 0 && patience < 100; patience++ {
		n, err := to.Send(list)
		if err != nil {
			return err
		}
		if to == c.outer {
			c.sent.Add(uint64(n))
		}
		if list = list[n:]; len(list) > 0 {
			station.Moment(100 * time.Microsecond) // the queue of the device is full
		}
	}
	c.Lost += uint64(len(list))
	return nil
}

// passed records the delay of the oldest of the frames that were sent.
func (c *carrier) passed(frames []packetio.Packet) {
	if len(frames) > 0 && c.watching {
		c.Late = max(c.Late, c.clock.Now().Sub(frames[0].Time))
	}
}

// Offsets in a frame of RoCEv2 over IPv4.
const (
	atSource   = 6
	atType     = 12
	atProtocol = 14 + 9
	atPort     = 14 + 20 + 2
	atDestQP   = 14 + 20 + 8 + 4
	probeQP    = 0xFFFFFF // no QP has this number: a bench measures its link with packets to it
)

// toDevice changes a frame into one for the device. Frames that measure the link are not carried.
func (c *carrier) toDevice(frame []byte) bool {
	if !ofRoCE(frame) || binary.BigEndian.Uint32(frame[atDestQP:])&psn.Mask == probeQP {
		return false
	}
	swap(frame, c.here.Device, c.there.Device)
	swap(frame[atSource:], c.here.Peer, c.there.Peer)
	return true
}

// fromDevice changes a frame into one on the link. Frames that the host's kernel sends on its own account are not
// carried.
func (c *carrier) fromDevice(frame []byte) bool {
	if !ofRoCE(frame) {
		return false
	}
	swap(frame, c.there.Peer, c.here.Peer)
	swap(frame[atSource:], c.there.Device, c.here.Device)
	return true
}

// swap replaces one address by another.
func swap(field []byte, from, to [6]byte) {
	if [6]byte(field) == from {
		copy(field, to[:])
	}
}

// ofRoCE reports whether a frame is RoCEv2 over IPv4 without options or tags, the only frames that a bench uses.
func ofRoCE(frame []byte) bool {
	return len(frame) > atDestQP+8 && binary.BigEndian.Uint16(frame[atType:]) == 0x0800 && frame[14] == 0x45 &&
		frame[atProtocol] == 17 &&
		binary.BigEndian.Uint16(frame[atPort:]) == roce.Port
}
