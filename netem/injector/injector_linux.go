package injector

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Config is the configuration of an injector.
type Config struct {
	Namespace int       // descriptor of the network namespace of the devices
	Devices   [2]string // by which the frames of A, and of B, leave the link
	Link      spec.Duplex
	Faults    []fault.Fault
	Seeds     [2]uint64 // seeds of the link's loss processes, by sender
	Dialect   Dialect
	Log       io.Writer // receives a record for each frame, see ReadLog; nil keeps no log, which is twice as fast
}

// Injector is a pair of programs in the kernel, one for each direction.
type Injector struct {
	config   Config
	devices  [2]int // indexes of the devices
	memory   *memory
	programs [2]*ebpf.Program
	hooks    []hook
	feeders  []*feeder
	reader   *ringbuf.Reader // reads the log; nil without one
	log      *bufio.Writer   // nil without one

	stop chan struct{}  // closed to end serve
	done sync.WaitGroup // waits for serve
	err  error          // result of serve; valid after done
}

// Counters count the effects of the injector in one direction.
type Counters struct {
	Frames  uint64 // frames that were numbered
	Lost    uint64 // frames that the loss process lost
	Drawn   uint64 // frames that the loss process had drawn as lost, including those that a fault dropped
	Asked   uint64 // losses that the process draws for this number of frames, computed again for comparison
	Dropped uint64 // frames that faults dropped
	Marked  uint64 // delivered frames that faults marked
	Copies  uint64
	Unread  uint64   // frames with a VLAN tag, of IPv6 or of another protocol, which no fault can match
	Missed  uint64   // records, fates, counts and copies for which the injector had no room
	ByFault []uint64 // by index in the script: frames of which it was the gravest fault
}

// Open loads the programs and draws the first fates. The programs have no effect before Attach. The caller closes the
// Injector.
func Open(c Config) (*Injector, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	i := &Injector{config: c, stop: make(chan struct{})}
	if err := i.load(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// validate checks the parts that do not depend on the machine.
func (c *Config) validate() error {
	if err := c.Dialect.validate(); err != nil {
		return err
	}
	if _, err := fault.NewSet(c.Faults); err != nil {
		return err
	}
	if list := Beyond(c.Faults, c.Link.AB.Loss, c.Link.BA.Loss); len(list) > 0 {
		return fmt.Errorf("injector: no %s: %w", list[0], ErrUnsupported)
	}
	return nil
}

// ErrUnsupported is the error for features that the injector, or the running kernel, lacks.
var ErrUnsupported = errors.New("not supported by the kernel's injector; use the relay")

// links returns the two directions of the link.
func (c *Config) links() [2]spec.Link { return [2]spec.Link{c.Link.AB, c.Link.BA} }

// load creates maps and programs.
func (i *Injector) load() (err error) {
	c := &i.config
	lossy := [2]bool{c.Link.AB.Loss.Model != spec.NoLoss, c.Link.BA.Loss.Model != spec.NoLoss}
	counted := false
	for _, f := range c.Faults {
		counted = counted || f.Tx != 0
	}
	if i.memory, err = newMemory(&c.Dialect, lossy[0] || lossy[1], counted, c.Log != nil); err != nil {
		return err
	}
	for side := range lossy {
		if err := i.loadSide(side, lossy[side]); err != nil {
			return err
		}
	}
	if c.Log == nil {
		return nil
	}
	i.log = bufio.NewWriterSize(c.Log, 1<<18)
	i.reader, err = ringbuf.NewReader(i.memory.log)
	return err
}

// loadSide loads the program for the frames of a side, and draws the first fates if there is a loss process: millions,
// which would take too long once the run has begun.
func (i *Injector) loadSide(side int, lossy bool) error {
	c := &i.config
	var err error
	if i.devices[side], err = deviceIndex(c.Namespace, c.Devices[side]); err != nil {
		return err
	}
	name := [2]fault.Side{fault.A, fault.B}[side]
	w := writer{side: side, memory: i.memory, dialect: &c.Dialect, lossy: lossy, device: i.devices[side]}
	for n, f := range c.Faults {
		if f.From == name && c.Dialect.knows(f.Type) {
			w.faults = append(w.faults, indexed{f, n})
		}
	}
	if i.programs[side], err = insert(&w, "gauntlet_"+string('a'+rune(side))); err != nil || !lossy {
		return err
	}
	p, err := channel.Losses(c.links()[side], c.Seeds[side])
	if err != nil {
		return err
	}
	f := &feeder{memory: i.memory, side: side, process: p}
	i.feeders = append(i.feeders, f)
	return f.feed()
}

// insert loads a program into the kernel.
func insert(w *writer, name string) (*ebpf.Program, error) {
	p, err := ebpf.NewProgram(
		&ebpf.ProgramSpec{Name: name, Type: ebpf.SchedCLS, Instructions: w.program(), License: "Apache-2.0"})
	if err == nil {
		return p, nil
	}
	return nil, reason(err)
}

// reason turns the kernel's error for a program into one line; the last line of the verifier's long log is its reason.
func reason(err error) error {
	var refused *ebpf.VerifierError
	switch {
	case errors.As(err, &refused) && len(refused.Log) > 0:
		return fmt.Errorf("injector: the kernel refuses the program: %w; use the relay, and report this", err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("injector: this kernel takes no such program (%w): %w", err, ErrUnsupported)
	}
	return fmt.Errorf("injector: load the program: %w; "+remedy, err)
}

// Attach attaches the programs, which from then on process every frame that leaves the devices.
func (i *Injector) Attach() error {
	i.done.Go(i.serve)
	for side := range i.programs {
		h, err := i.attach(side)
		if err != nil {
			return err
		}
		i.hooks = append(i.hooks, h)
	}
	return nil
}

// serveEvery is the interval at which the log is read and fates are drawn; both have room for a hundred intervals.
const serveEvery = 5 * time.Millisecond

// serve draws fates and writes the log until the injector ends.
func (i *Injector) serve() {
	tick := time.NewTicker(serveEvery)
	defer tick.Stop()
	var rec ringbuf.Record
	for going := true; going && i.err == nil; {
		select {
		case <-i.stop:
			going = false
		case <-tick.C:
		}
		for _, f := range i.feeders {
			i.err = errors.Join(i.err, f.feed())
		}
		if i.log != nil {
			i.err = errors.Join(i.err, drain(i.reader, i.log, &rec))
		}
	}
}

// Detach detaches the programs, and ends the log. The counters stay.
func (i *Injector) Detach() error {
	var errs []error
	for _, h := range i.hooks {
		errs = append(errs, h.close())
	}
	i.hooks = nil
	select {
	case <-i.stop:
		return errors.Join(errs...)
	default:
		close(i.stop)
	}
	i.done.Wait()
	if i.log != nil {
		errs = append(errs, i.log.Flush())
	}
	return errors.Join(append(errs, i.err)...)
}

// Hook returns how the programs are attached: TCX or clsact; "" while they are not.
func (i *Injector) Hook() string {
	if len(i.hooks) == 0 {
		return ""
	}
	return i.hooks[0].kind
}

// Counters returns the counters so far, by sender.
func (i *Injector) Counters() (list [2]Counters, err error) {
	for side := range list {
		n := func(which int) uint64 { return i.memory.counter(side, which) }
		c := Counters{Frames: n(cOffered), Lost: n(cLost), Drawn: n(cDrawn), Dropped: n(cDropped),
			Marked: n(cMarked), Copies: n(cCopies), Unread: n(cUnread),
			Missed: n(cUnlogged) + n(cOverrun) + n(cUntracked) + n(cUncopied)}
		if c.Asked, err = asked(i.config.links()[side], i.config.Seeds[side], c.Frames); err != nil {
			return list, err
		}
		for at, f := range i.config.Faults {
			hit := uint64(0)
			if (f.From == fault.B) == (side == 1) {
				hit = i.memory.word(faultsAt + at*faultLen + wordLen)
			}
			c.ByFault = append(c.ByFault, hit)
		}
		list[side] = c
	}
	return list, nil
}

// Close removes programs and maps from the kernel. A second call does nothing.
func (i *Injector) Close() error {
	err := i.Detach()
	if i.reader != nil {
		_ = i.reader.Close()
	}
	for _, p := range i.programs {
		if p != nil {
			_ = p.Close()
		}
	}
	if i.memory != nil {
		i.memory.close()
	}
	return err
}
