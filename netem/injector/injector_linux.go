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

// Config is what an injector needs.
type Config struct {
	Namespace int       // descriptor of the network namespace of the devices
	Devices   [2]string // by which the frames of A and of B leave the link
	Link      spec.Duplex
	Faults    []fault.Fault
	Seeds     [2]uint64 // of the processes of the link, by sender
	Dialect   Dialect
	Log       io.Writer // what happened to each frame, see ReadLog; nil keeps none, which is twice as fast
}

// Injector is a pair of programs in the kernel, one for each direction.
type Injector struct {
	config   Config
	devices  [2]int // their indexes
	memory   *memory
	programs [2]*ebpf.Program
	hooks    []hook
	feeders  []*feeder
	reader   *ringbuf.Reader // of the log; nil without one
	log      *bufio.Writer   // nil without one

	stop chan struct{}  // closed when the injector is to end its log
	done sync.WaitGroup // of serve
	err  error          // of serve; read after done
}

// Counters are what the injector did in one direction.
type Counters struct {
	Frames  uint64 // that took part
	Lost    uint64 // by the loss process
	Drawn   uint64 // that it had drawn, those included that a fault dropped
	Asked   uint64 // that it has to draw of so many frames, counted again
	Dropped uint64 // by faults
	Marked  uint64 // by faults, of those that went on
	Copies  uint64
	Unread  uint64   // frames of another protocol, which no fault can pick
	Missed  uint64   // what the injector could not do: a record, a fate, a count or a copy for which it had no room
	ByFault []uint64 // by place in the script: frames of which it was the gravest fault
}

// Open loads the programs and draws the first fates. The programs act from Attach on. The caller closes the Injector.
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

// validate checks what does not depend on the machine.
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

// ErrUnsupported is what the injector cannot do, or the kernel not.
var ErrUnsupported = errors.New("not supported by the kernel's injector; use the relay")

// links are the two directions.
func (c *Config) links() [2]spec.Link { return [2]spec.Link{c.Link.AB, c.Link.BA} }

// load makes maps and programs.
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

// loadSide makes the program for what a side sends, and draws the first fates if there are any: millions, for which
// there is no time when the run has begun.
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

// insert hands a program to the kernel. Its verifier's reason is the last line of a long text.
func insert(w *writer, name string) (*ebpf.Program, error) {
	p, err := ebpf.NewProgram(
		&ebpf.ProgramSpec{Name: name, Type: ebpf.SchedCLS, Instructions: w.program(), License: "Apache-2.0"})
	if err == nil {
		return p, nil
	}
	return nil, reason(err)
}

// reason makes one line of why the kernel took no program.
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

// Attach lets the programs act on every frame that leaves the devices from now on.
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

// How often the log is emptied and fates are drawn ahead: both have room for a hundred times as long.
const serveEvery = 5 * time.Millisecond

// serve draws fates ahead and writes the log until the injector ends.
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

// Detach takes the programs off the devices, and ends the log. Counters stay.
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

// Hook says how the programs hang on the devices: TCX or clsact; nothing while they do not.
func (i *Injector) Hook() string {
	if len(i.hooks) == 0 {
		return ""
	}
	return i.hooks[0].kind
}

// Counters returns what the injector has done so far, by sender.
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

// Close takes everything out of the kernel. A second call does nothing.
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
