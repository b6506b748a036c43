// Package builds makes programs of commits by a command of the user's, each once, and runs commands of this program
// with them: either the program is this one at another commit, or a transport that takes the place of another in the
// command.
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
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/whole"
)

// Builder makes programs.
type Builder struct {
	Repo    string // a folder of the repository
	Command string // for a shell, which begins in a checkout of the commit and writes the program to $GAUNTLET_PROGRAM
	Cache   string // folder of the programs; "" is that of the user
}

// commit is the name of a commit in full, or the beginning of it.
var commit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// Program returns the path of the program of a commit, which is built if it was not before.
func (b *Builder) Program(ctx context.Context, name string) (string, error) {
	if !commit.MatchString(name) {
		return "", fmt.Errorf("build: commit %s: want hexadecimal digits of a commit without changes",
			quote.Line(name, quote.Name))
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
	defer func() { // also when ctx has ended; a stale one is pruned by git
		_, _ = Git(context.WithoutCancel(ctx), b.Repo, "worktree", "remove", "--force", source)
	}()
	if err := b.build(ctx, source, name, filepath.Join(tree, "program")); err != nil {
		return "", err
	}
	return path, keep(filepath.Join(tree, "program"), path)
}

// place is where the program of a commit is kept.
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

// build runs the command.
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

// keep moves a program to its place, whole or not at all.
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

// executable reports whether a path is a program.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Git runs git in a repository and returns what it prints.
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

// Subject is what is measured: this program where Name is "", else a transport that commands call so. Commands run in
// Dir.
type Subject struct{ Name, Dir string }

// Command is a command of this program with another build of the subject; program "" is the one that is there.
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
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // so that it writes what it has
	c.WaitDelay = time.Minute
	return c
}
