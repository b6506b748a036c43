package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// standard lists the modules of every guest: those that its port and the netns bench need, the last two for the
// injector where the kernel has no TCX.
var standard = []string{"virtio_pci", "virtio_console", "veth", "bridge", "sch_netem", "sch_ingress", "cls_bpf"}

// errNoBoot is the error of a guest that did not reach its first process.
var errNoBoot = errors.New("the guest did not boot")

// Run boots the guest and returns when QEMU has ended. An error means that the guest, or one of its ingredients,
// failed; it ends with the last lines of the console, and the command's output until then has been written.
func (g *Guest) Run(ctx context.Context) (*Outcome, error) {
	if what, remedy := Missing(); what != "" {
		return nil, fmt.Errorf("lab: %s; %s", what, remedy)
	}
	initrd, err := g.initramfs()
	if err != nil {
		return nil, err
	}
	defer initrd.Close()
	if !g.Deterministic { // otherwise the guest uses its own clock, which a busy host does not slow down
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.limit(), stillRunning(g.limit()))
		defer cancel()
	}
	for tries := accelerators(g.Deterministic); ; tries = tries[1:] {
		o, err := g.boot(ctx, tries[0], initrd)
		if !errors.Is(err, errNoBoot) || len(tries) == 1 || ctx.Err() != nil {
			return o, err
		}
	}
}

// stillRunning is the error of a guest, or of the command in it, that has reached its limit.
func stillRunning(limit time.Duration) error { return fmt.Errorf("still running after %s", limit) }

func (g *Guest) memory() int { return cmp.Or(g.Memory, DefaultMemory) }

// initramfs builds the file system.
func (g *Guest) initramfs() (*os.File, error) {
	modules, err := loadOrder(g.Kernel, slices.Concat(standard, g.Modules))
	if err != nil {
		return nil, err
	}
	r := newInitramfs()
	// By number, because "self" would be the dynamic linker, which is run to list the libraries.
	if err := r.program(initPath, fmt.Sprintf("/proc/%d/exe", os.Getpid())); err != nil {
		return nil, err
	}
	for _, w := range g.brought() {
		if err := r.bring(w); err != nil {
			return nil, err
		}
	}
	facts := [][2]string{{"kernel package", g.Kernel.String()}, {"kernel package sha256", g.Kernel.SHA256}}
	order := &Order{Command: g.Command, Dir: g.Dir, Env: append(g.Env, "PATH="+binDir+":"+os.Getenv("PATH")),
		Modules: r.modules(modules),
		Outputs: g.Outputs, Shell: g.Shell, Facts: facts, Deterministic: g.Deterministic}
	if g.Deterministic {
		order.Limit = g.limit()
	}
	if err := r.order(order); err != nil {
		return nil, err
	}
	f, err := memory("initramfs")
	if err != nil {
		return nil, err
	}
	return f, r.write(f)
}

// brought lists the items to copy into the guest: those of With, and the command unless it is this program.
func (g *Guest) brought() []string {
	if g.Command[0] == "gauntlet" {
		return g.With
	}
	return append(slices.Clone(g.With), g.Command[0])
}

// boot runs the guest once.
func (g *Guest) boot(ctx context.Context, with accelerator, initrd *os.File) (o *Outcome, err error) {
	m := &machine{guest: g, accel: with, initrd: initrd}
	if m.console, err = memory("console"); err != nil {
		return nil, err
	}
	defer m.console.Close()
	if m.results, err = memory("results"); err != nil {
		return nil, err
	}
	defer m.results.Close()
	began := time.Now()
	if err := m.start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.keepConsole(m.console)) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := context.AfterFunc(ctx, func() { _ = m.kill() }) // it may have ended
	defer end()
	late := time.AfterFunc(patience[with], func() { cancel(fmt.Errorf("%w within %s", errNoBoot, patience[with])) })
	defer late.Stop()

	r, err := g.receive(&follower{file: m.results, ended: m.ended}, func() { late.Stop() })
	if err != nil {
		_ = m.kill()
	}
	<-m.ended
	if err == nil && r == nil || ctx.Err() != nil {
		return nil, m.death(ctx, late, time.Since(began))
	}
	if err == nil && r.Text != "" {
		err = errors.New(quote.Line(r.Text, quote.Sentence))
	}
	if err != nil {
		return nil, err
	}
	return m.outcome(r, time.Since(began)), nil
}

// patience bounds the time from the start of QEMU to the guest's first process. A working KVM takes two seconds, and
// TCG ten, or minutes when twenty other processes compete for the processor.
var patience = map[accelerator]time.Duration{kvm: 20 * time.Second, tcg: 5 * time.Minute}

func (m *machine) outcome(r *Report, wall time.Duration) *Outcome {
	o := &Outcome{Code: r.Code, Guest: r.Up, Wall: wall, Accelerator: string(m.accel), Full: r.Full}
	if m.guest.Deterministic {
		o.Instructions = uint64(r.Up - r.Idle) // an instruction takes a nanosecond
	}
	return o
}

// receive passes on the frames of the guest until the stream ends. The Report is nil when the guest ended without one.
func (g *Guest) receive(in io.Reader, up func()) (last *Report, err error) {
	r, w := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := unpack(r, g.Outputs)
		r.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // nobody reads the rest of a rejected archive
		unpacked <- err
	}()
	defer func() {
		w.CloseWithError(cmp.Or(err, io.EOF))
		if unpackErr := <-unpacked; err == nil && last != nil && last.Text == "" {
			err = unpackErr
		}
	}()
	to := map[kind]io.Writer{stdout: cmp.Or[io.Writer](g.Stdout, io.Discard),
		stderr: cmp.Or[io.Writer](g.Stderr, io.Discard), files: w}
	for {
		k, payload, err := readFrame(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil //nolint:nilnil // the guest died, and its console has the reason
		case err != nil:
			return nil, fmt.Errorf("lab: %w", err)
		case k == hello:
			up()
		case k == report:
			last := &Report{}
			return last, json.Unmarshal(payload, last)
		default:
			if _, err := to[k].Write(payload); err != nil {
				return nil, fmt.Errorf("lab: results: %w", err)
			}
		}
	}
}

// maxConsole bounds the part of a console that is read: far more than a kernel prints unless it is in a loop.
const maxConsole = 64 << 20

// death returns the reason why a guest ended without a report, with the last lines of its console.
func (m *machine) death(ctx context.Context, late *time.Timer, lived time.Duration) error {
	why := context.Cause(ctx)
	switch {
	case why == nil && late.Stop():
		why = fmt.Errorf("%w (%s)", errNoBoot, m.accel)
	case why == nil:
		why = fmt.Errorf("died after %s", lived.Round(100*time.Millisecond))
	}
	if said := strings.TrimSpace(m.said.String()); said != "" {
		return fmt.Errorf("lab: guest: %w; %s: %s", why, emulator, lastWords(said))
	}
	said, err := io.ReadAll(io.NewSectionReader(m.console, 0, maxConsole))
	return errors.Join(fmt.Errorf("lab: guest: %w; its console ends: %s", why, lastWords(string(said))), err)
}

// grave matches the lines that a kernel, or a Go program that was its first process, prints when it dies. The registers
// follow on the console.
var grave = regexp.MustCompile(`(?m)^.*(Kernel panic|Out of memory|BUG: |Oops: |panic: |fatal error: ).*$`)

// lastWords returns the relevant lines at the end of a console: from the first grave line and the two before it, some
// lines.
func lastWords(console string) string {
	const most = 6
	lines := strings.FieldsFunc(printable(console), func(r rune) bool { return r == '\n' })
	if i := slices.IndexFunc(lines, grave.MatchString); i >= 0 {
		lines = lines[max(0, i-2):]
		lines = lines[:min(len(lines), most)]
	}
	if len(lines) == 0 {
		return "(nothing)"
	}
	return quote.Line(strings.Join(lines[max(0, len(lines)-most):], " | "), quote.Message)
}

// printable is the text without the carriage returns and colours of a console.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || r == 0x7f) {
			return -1
		}
		return r
	}, s)
}

// keepConsole copies the console to the file that the user has chosen.
func (g *Guest) keepConsole(console *os.File) error {
	if g.Console == "" {
		return nil
	}
	out, err := os.Create(g.Console)
	if err != nil {
		return fmt.Errorf("lab: console log: %w", err)
	}
	_, err = io.Copy(out, io.NewSectionReader(console, 0, maxConsole))
	return errors.Join(err, out.Close())
}

// follower reads a file that another process is writing, to its end after that process has ended.
type follower struct {
	file  *os.File
	ended <-chan struct{}
	at    int64
}

// poll is the interval at which a follower checks for more output.
const poll = 20 * time.Millisecond

// Read implements io.Reader.
func (f *follower) Read(p []byte) (int, error) {
	for last := false; ; {
		n, err := f.file.ReadAt(p, f.at)
		f.at += int64(n)
		switch {
		case n > 0:
			return n, nil
		case last, !errors.Is(err, io.EOF):
			return 0, err
		}
		select {
		case <-f.ended:
			last = true
		case <-time.After(poll):
		}
	}
}
