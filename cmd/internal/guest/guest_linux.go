package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Elsewhere reports whether a bench is in a guest that has not been booted yet.
func Elsewhere(bench string) bool { return bench == "lab" && !lab.Inside() }

// Guest returns a guest with the options, whose output goes to this process's standard streams.
func (o *Options) Guest() (*lab.Guest, error) {
	if (o.Kernel == "") != (o.Modules == "") {
		return nil, fault.Usage(fmt.Errorf(
			"--kernel and --modules go together: an image without its modules has no netem"))
	}
	if o.Memory < 512 || o.Limit <= 0 {
		return nil, fault.Usage(fmt.Errorf("--guest-memory %d, --guest-limit %s: want 512 MiB or more, and more than 0",
			o.Memory, o.Limit))
	}
	g := &lab.Guest{Deterministic: o.Deterministic, Memory: o.Memory, Limit: o.Limit, Console: o.Console, With: o.With,
		Stdout: os.Stdout, Stderr: os.Stderr}
	var err error
	if o.Kernel != "" {
		g.Kernel, err = lab.Own(o.Kernel, o.Modules)
	} else {
		g.Kernel, err = lab.Latest()
	}
	if err == nil {
		g.Dir, err = os.Getwd()
	}
	return g, fault.Broken(err)
}

// Fetch downloads a kernel package, or one version of it, to the cache.
func Fetch(ctx context.Context, name string) (*lab.Kernel, error) {
	cache, err := lab.Cache()
	if err != nil {
		return nil, fault.Broken(err)
	}
	k, err := lab.Fetch(ctx, cache, name)
	return k, fault.Broken(err)
}

// Again runs a command of this program in a guest, and returns its exit code.
func (o *Options) Again(ctx context.Context, c Command) (code int, err error) {
	g, err := o.Guest()
	if err != nil {
		return 0, err
	}
	g.Seed = c.Seed
	g.Command = append([]string{"gauntlet"}, c.Args...)
	g.Env = []string{"TZ=UTC"}
	files, err := Absolute(c.Files) // a name without a slash would be searched for among the programs
	if err != nil {
		return 0, fault.Usage(err)
	}
	g.With, g.Modules = slices.Concat(g.With, files, o.programs), o.drivers
	if g.Outputs, err = Absolute(c.Outputs); err != nil {
		return 0, fault.Usage(err)
	}
	// The output is that of this program, but a guest is not trusted: it is escaped.
	out, log := &quote.Writer{To: g.Stdout}, &quote.Writer{To: g.Stderr}
	g.Stdout, g.Stderr = out, log
	code, err = Boot(ctx, g)
	return code, errors.Join(err, out.Flush(), log.Flush())
}

// Boot runs the guest, writes its cost to its standard error, and returns the exit code of its command.
func Boot(ctx context.Context, g *lab.Guest) (code int, err error) {
	o, err := g.Run(ctx)
	if err != nil {
		return 0, fault.Broken(err)
	}
	fmt.Fprintln(g.Stderr, "lab:", o.String()+",", g.Kernel)
	return o.Code, nil
}

// shellTools are the programs that a shell gets if this machine has them.
var shellTools = []string{"cat", "dmesg", "ip", "ls", "lsmod", "ping", "ps", "rdma", "tc", "tshark"}

// Shell changes a guest to one that opens a shell on this terminal.
func Shell(g *lab.Guest) {
	g.Shell, g.Command = true, []string{"sh"}
	g.Env = []string{"HOME=/", "PS1=lab# ", "TERM=" + os.Getenv("TERM")}
	for _, tool := range shellTools {
		if _, err := exec.LookPath(tool); err == nil {
			g.With = append(g.With, tool)
		}
	}
}
