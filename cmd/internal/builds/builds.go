// Package builds builds commits by a command of the user, each once, and runs commands of this program with them. The
// result of a build is either this program at another commit, or a transport that replaces another in the command.
package builds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/whole"
)

// Builder builds the programs of commits.
type Builder struct {
	Repo string // folder of the repository
	// shell command, which starts in a checkout of the commit and writes the program to $GAUNTLET_PROGRAM
	Command string
	Cache   string // folder of the programs; "" for the user's cache folder
}

// commit matches the full name of a commit, or a prefix of it.
var commit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// CheckCommit returns an error for what is not the name of a commit, such as that of one with changes.
func CheckCommit(name string) error {
	if !commit.MatchString(name) {
		return fmt.Errorf("build: commit %s: want hexadecimal digits of a commit without changes",
			quote.Line(name, quote.Name))
	}
	return nil
}

// Program returns the path of the program of a commit. It builds the program unless the cache has it.
func (b *Builder) Program(ctx context.Context, name string) (string, error) {
	if err := CheckCommit(name); err != nil {
		return "", err
	}
	path, err := b.place(name)
	if err != nil {
		return "", err
	}
	if executable(path) {
		return path, nil
	}
	tree, err := os.MkdirTemp("", "gauntlet-build-*")
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	defer os.RemoveAll(tree)
	source := filepath.Join(tree, "source")
	if _, err := Git(ctx, b.Repo, "worktree", "add", "--detach", source, name); err != nil {
		return "", err
	}
	defer func() { // also after ctx has ended; git prunes a stale worktree
		_, _ = Git(context.WithoutCancel(ctx), b.Repo, "worktree", "remove", "--force", source)
	}()
	if err := b.build(ctx, source, name, filepath.Join(tree, "program")); err != nil {
		return "", err
	}
	return path, keep(filepath.Join(tree, "program"), path)
}

// place returns the path of a commit's program in the cache.
func (b *Builder) place(name string) (string, error) {
	cache := b.Cache
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("build: %w", err)
		}
		cache = filepath.Join(dir, "gauntlet", "builds")
	}
	repo, err := filepath.Abs(b.Repo)
	sum := sha256.Sum256([]byte(repo + "\n" + b.Command))
	return filepath.Join(cache, hex.EncodeToString(sum[:8]), name), err
}

// build runs the build command.
func (b *Builder) build(ctx context.Context, source, name, program string) error {
	c := exec.CommandContext(ctx, "sh", "-c", b.Command)
	c.Dir, c.Env = source, append(os.Environ(), "GAUNTLET_PROGRAM="+program, "GAUNTLET_COMMIT="+name)
	var said contract.Log
	c.Stdout, c.Stderr, c.WaitDelay = &said, &said, 10*time.Second
	switch err := c.Run(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("build: commit %.12s: %w%s", name, err, said.Last())
	case !executable(program):
		return fmt.Errorf("build: commit %.12s: the command left no program at $GAUNTLET_PROGRAM", name)
	}
	return nil
}

// keep moves a program to its place atomically.
func keep(from, to string) error {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = whole.Write(to, text, 0o755)
	}
	if err != nil {
		return fmt.Errorf("build: keep %s: %w", to, err)
	}
	return nil
}

// executable reports whether a path is an executable file.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Git runs git in a repository and returns its output.
func Git(ctx context.Context, repo string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...)
	var said contract.Log
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w%s", args[0], err, said.Last())
	}
	return strings.TrimSpace(string(out)), nil
}

// Subject is the thing that is measured: this program if Name is "", otherwise the transport that commands call Name.
// Commands run in Dir.
type Subject struct{ Name, Dir string }

// Command returns a command of this program that uses another build of the subject; program "" keeps the one in the
// command.
func (s Subject) Command(ctx context.Context, program string, args []string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = "gauntlet"
	}
	args = slices.Clone(args)
	switch {
	case program == "":
	case s.Name == "":
		self = program
	default:
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], s.Name, scenario.Exec+program)
		}
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Dir = s.Dir
	apart(c)
	// an interrupt lets it write the results that it has
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = time.Minute
	return c
}

// Run runs a command of a Subject. The signal that ends it with this process is tied to the thread that starts it,
// which has to stay.
func Run(c *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return c.Run()
}
