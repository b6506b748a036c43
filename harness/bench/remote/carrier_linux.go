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

// laid is the first line that the process of a cable reads.
type laid struct {
	Base  int64      `json:"base_ns"` // time zero of the bench, CLOCK_MONOTONIC
	Inner string     `json:"inner"`   // the device's end on this machine, in the namespace of the process
	Outer string     `json:"outer"`   // the network device of the cable, whose socket is descriptor atOuter
	Side  trace.Side `json:"side"`    // of the device
	Here  pair       `json:"here"`    // the Ethernet addresses on the link
	There pair       `json:"there"`   // and on the cable
	Echo  bool       `json:"echo"`    // ask the far kernel how late it is
}

// atOuter is the descriptor of the socket that the process of a cable inherits.
const atOuter = 3

// The orders for the process of a cable, a word a line; each is answered by what was carried so far.
const (
	cableBegin = "begin" // the run begins: what is late from here on is of it
	cableEnd   = "end"   // it is over
	cableCount = "count"
	cableStop  = "stop"
)

// carried is what a cable has done so far.
type carried struct {
	Sent     uint64 `json:"sent"`     // frames to the device, whatever they were
	Received uint64 `json:"received"` // frames from it, likewise

	// Totals; zero until the cable has stopped.
	conduct
	Deaf    vtime.Duration `json:"deaf,omitempty"`    // the longest time without an answer to an echo
	Answers int            `json:"answers,omitempty"` // to echo requests

	Error string `json:"error,omitempty"`
}

// conduct is how the goroutine that carries has done so.
type conduct struct {
	Lost     uint64         `json:"lost,omitempty"`     // frames that one of the two ends did not take
	Late     vtime.Duration `json:"late,omitempty"`     // how long a frame was between cable and link, at most
	Realtime bool           `json:"realtime,omitempty"` // it came before all ordinary threads of this machine
}

// carrier joins the device's end of a network on this machine to the real cable, both ways: what the device sends seems
// to be sent by that end, and what arrives at the end goes to the device. Addresses of IP are those of the bench, which
// the ICRC covers. Of the Ethernet addresses the device keeps its own, its peer has one that is only on the cable, and
// both are exchanged here.
type carrier struct {
	inner, outer *packetio.Port
	here, there  pair // the Ethernet addresses on the link, and on the cable
	clock        *packetio.Clock
	stop         atomic.Bool // it is to end
	running      atomic.Bool // the run is: what is late counts

	sent, received atomic.Uint64 // frames to the device, and from it, whatever they were

	// The goroutine that carries has these alone until it has ended.
	conduct
	list     [][]byte // frames on their way
	watching bool     // what is late counts
	echoes   echoes
}

// spareMemory is what the process of a cable may use before garbage is collected after all.
const spareMemory = 128 << 20

// CableMain is the body of the process of a cable, which was started in the namespace of the device's end. It reads a
// line with what was laid, then orders, and ends when its input does. It is a process of its own, so that no collector
// of garbage and no judge keeps it from carrying, and a priority delays nobody in it.
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
		_ = answers.Encode(carried{Error: err.Error()}) // the caller gets it as well
		return err
	}
	debug.SetGCPercent(-1) // what an echo request takes is little, and a run is short
	debug.SetMemoryLimit(spareMemory)
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // the loop keeps one
	ended := make(chan error, 1)
	go func() { ended <- c.carry() }()
	if err := answers.Encode(c.count()); err != nil {
		return errors.Join(err, c.close(ended))
	}
	return c.obey(lines, answers, ended)
}

// open opens both ends.
func (l *laid) open() (*carrier, error) {
	c := &carrier{here: l.Here, there: l.There, clock: packetio.NewClock(l.Base)}
	if l.Echo {
		c.echoes = newEchoes(l.Side, l.There)
	}
	c.outer = packetio.Inherit(atOuter, l.Outer, c.clock)
	var err error
	c.inner, err = packetio.Open(l.Inner, c.clock, packetio.Options{})
	return c, err
}

// obey does what it is told until it is to stop, the input ends or the cable breaks.
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
			_ = answers.Encode(carried{Error: err.Error()}) // the caller gets it as well
			return errors.Join(err, c.close(ended))
		}
		if len(ended) > 0 { // it carries no longer
			break
		}
		if err := answers.Encode(c.count()); err != nil {
			return errors.Join(err, c.close(ended))
		}
	}
	return c.close(ended)
}

// count is what was carried so far.
func (c *carrier) count() carried { return carried{Sent: c.sent.Load(), Received: c.received.Load()} }

// whole is what was carried, when it has ended.
func (c *carrier) whole() carried {
	w := c.count()
	w.conduct, w.Deaf, w.Answers = c.conduct, c.echoes.longest, c.echoes.answers
	return w
}

// close ends the cable, and counts what the kernel has dropped.
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

// carry carries frames until it is told to stop.
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

// idle is how long nothing may happen before it is looked whether to stop, or whether the run has begun.
const idle = 5 * vtime.Millisecond

// watch sees whether the run has begun or ended, and returns until when there is nothing to do but to wait for frames.
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

// exchange carries what waits, both ways.
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
	return c.pass(c.inner, in, c.fromDevice)
}

// ask sends an echo request, if one is due.
func (c *carrier) ask() error {
	request, err := c.echoes.due(c.clock.Now())
	if request == nil || err != nil {
		return err
	}
	c.list = append(c.list[:0], request)
	n, err := c.outer.Send(c.list) // one for which there is no room is asked again
	c.sent.Add(uint64(n))
	return err
}

// pass puts those of some frames on the other side that belong there.
func (c *carrier) pass(to *packetio.Port, frames []packetio.Packet, belongs func([]byte) bool) error {
	list := c.list[:0]
	for i := range frames {
		if belongs(frames[i].Data) {
			list = append(list, frames[i].Data)
		}
	}
	c.list = list
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
			station.Moment(100 * time.Microsecond) // its queue is full
		}
	}
	c.Lost += uint64(len(list))
	return nil
}

// passed notes how late the oldest of some frames has left.
func (c *carrier) passed(frames []packetio.Packet) {
	if len(frames) > 0 && c.watching {
		c.Late = max(c.Late, c.clock.Now().Sub(frames[0].Time))
	}
}

// Where a frame of RoCEv2 over IPv4 has what is looked at.
const (
	atSource   = 6
	atType     = 12
	atProtocol = 14 + 9
	atPort     = 14 + 20 + 2
	atDestQP   = 14 + 20 + 8 + 4
	probeQP    = 0xFFFFFF // nobody's: a bench measures its link with packets to it
)

// toDevice makes a frame one for the device. What measures the link stays here.
func (c *carrier) toDevice(frame []byte) bool {
	if !ofRoCE(frame) || binary.BigEndian.Uint32(frame[atDestQP:])&psn.Mask == probeQP {
		return false
	}
	swap(frame, c.here.Device, c.there.Device)
	swap(frame[atSource:], c.here.Peer, c.there.Peer)
	return true
}

// fromDevice makes a frame one of the end. What the host's kernel says by itself stays out.
func (c *carrier) fromDevice(frame []byte) bool {
	if !ofRoCE(frame) {
		return false
	}
	swap(frame, c.there.Peer, c.here.Peer)
	swap(frame[atSource:], c.there.Device, c.here.Device)
	return true
}

// swap puts one address in place of another.
func swap(field []byte, from, to [6]byte) {
	if [6]byte(field) == from {
		copy(field, to[:])
	}
}

// ofRoCE reports whether a frame is RoCEv2 over IPv4 without options or tags, which is what a bench speaks.
func ofRoCE(frame []byte) bool {
	return len(frame) > atDestQP+8 && binary.BigEndian.Uint16(frame[atType:]) == 0x0800 && frame[14] == 0x45 &&
		frame[atProtocol] == 17 &&
		binary.BigEndian.Uint16(frame[atPort:]) == roce.Port
}
