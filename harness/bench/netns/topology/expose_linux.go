package topology

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// runDir is the folder in which ip-netns(8) looks for named namespaces.
const runDir = "/run/netns"

// exposed is the set of names of a Topology, and the janitor that removes them.
type exposed struct {
	janitor *exec.Cmd
	life    io.Closer // the janitor's standard input; its end is the janitor's signal
}

// suffixes follow the name of a Topology in that of each of its namespaces, by label.
var suffixes = map[string]string{"A": "-a", "M": "-link", "B": "-b", "X": "-box"}

// expose names the namespaces. The files are made first, exclusively, then the janitor is started and only then
// anything is mounted, so that a death at any moment leaves at most empty files.
func expose(o Options, spaces []*Namespace) (*exposed, error) {
	if o.Janitor == nil {
		return nil, errors.New("netns: exposing names needs a janitor process; set Options.Janitor")
	}
	if strings.ContainsAny(o.Name, "/\x00") {
		return nil, fmt.Errorf("netns: name %q: want a plain file name", o.Name)
	}
	var names []string
	for _, n := range spaces {
		names = append(names, o.Name+suffixes[n.Label])
	}
	if err := claim(names); err != nil {
		return nil, err
	}
	e := &exposed{}
	if err := e.hire(o.Janitor(names)); err != nil {
		return nil, errors.Join(err, sweep(names))
	}
	for i, n := range spaces {
		path := filepath.Join(runDir, names[i])
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", n.Fd()), path, "", unix.MS_BIND, ""); err != nil {
			return nil, errors.Join(fmt.Errorf("netns: mount %s: %w; exposing names needs root", path, err), e.close())
		}
	}
	return e, nil
}

// claim creates the files on which the namespaces are mounted. It refuses an existing file, which is foreign.
func claim(names []string) error {
	if err := share(); err != nil {
		return err
	}
	for i, name := range names {
		f, err := os.OpenFile(filepath.Join(runDir, name), os.O_CREATE|os.O_EXCL, 0o444)
		if errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("netns: name clash: %s exists in %s; choose another name or remove it "+
				"with ip netns del %s", name, runDir, name)
		}
		if err != nil {
			return errors.Join(err, sweep(names[:i]))
		}
		f.Close()
	}
	return nil
}

// share prepares the directory as ip-netns(8) does, a shared mount of itself. Were it left to ip, its recursive bind
// would copy the mounts of a running Topology, and the originals below could not be removed any more.
func share() error {
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return fmt.Errorf("netns: create %s: %w; exposing names needs root", runDir, err)
	}
	err := unix.Mount("", runDir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if err != unix.EINVAL { // EINVAL: not a mount yet
		return wrapShare(err)
	}
	if err := unix.Mount(runDir, runDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return wrapShare(err)
	}
	return wrapShare(unix.Mount("", runDir, "none", unix.MS_SHARED|unix.MS_REC, ""))
}

func wrapShare(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("netns: share %s: %w; exposing names needs root", runDir, err)
}

// hire starts the janitor in a session of its own, so that no interrupt from a terminal reaches it.
func (e *exposed) hire(janitor *exec.Cmd) (err error) {
	if e.life, err = janitor.StdinPipe(); err != nil {
		return fmt.Errorf("netns: janitor: %w", err)
	}
	janitor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := janitor.Start(); err != nil {
		return fmt.Errorf("netns: start janitor: %w", err)
	}
	e.janitor = janitor
	return nil
}

// close makes the janitor remove the names and waits for it.
func (e *exposed) close() error {
	if err := errors.Join(e.life.Close(), e.janitor.Wait()); err != nil {
		return fmt.Errorf("netns: janitor: %w", err)
	}
	return nil
}

// JanitorMain removes the exposed names when its standard input ends: at the close of the Topology that started it, or
// at the death of that process, however it came.
func JanitorMain(names []string, stdin io.Reader) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // those are for the run, not for its cleaning up
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return errors.Join(err, sweep(names))
	}
	return sweep(names)
}

// sweep unmounts and removes names, and the directory with its mount when nothing else is in it.
func sweep(names []string) error {
	var errs []error
	for _, name := range names {
		path := filepath.Join(runDir, filepath.Base(name))
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
			errs = append(errs, fmt.Errorf("netns: unmount %s: %w", path, err))
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if rest, err := os.ReadDir(runDir); err == nil && len(rest) == 0 {
		_ = unix.Unmount(runDir, 0) // both fail, as they should, if somebody has just put a name there
		_ = os.Remove(runDir)
	}
	return errors.Join(errs...)
}
