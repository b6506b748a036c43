package builds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/points"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// Verbs are the commands whose results can be converted to points.
var Verbs = []string{"conform", "gate", "matrix", "perf", "run"}

// taken are the flags that Measure sets.
var taken = []string{"--json", "--out", "--quiet", "--junit", "--html", "-q", "-o", "--units", "--shard"}

// Check returns an error for a command without points, or with a flag that Measure sets.
func Check(args []string) error {
	if len(args) == 0 || !slices.Contains(Verbs, args[0]) {
		word := ""
		if len(args) > 0 {
			word = args[0]
		}
		return fmt.Errorf("%s: unknown; want one of %s", quote.Line(word, quote.Name), strings.Join(Verbs, " "))
	}
	for _, a := range args {
		if flag, _, _ := strings.Cut(a, "="); slices.Contains(taken, flag) {
			return fmt.Errorf("%s %s: leave it out: where results go is not for the command to say", args[0], flag)
		}
	}
	return nil
}

// UsageCode is the exit code of a command after a mistake of the user.
const UsageCode = 2

// Check returns an error of the user if a command has a flag that this program does not know, or a value of the wrong
// form. Nothing is run.
func (s Subject) Check(ctx context.Context, args []string) error {
	c := s.Command(ctx, "", append(slices.Clone(args), "--help"))
	var said contract.Log
	c.Stderr = &said
	var exit *exec.ExitError
	if err := Run(c); errors.As(err, &exit) && exit.ExitCode() == UsageCode {
		return fault.Usage(fmt.Errorf("%s%s", args[0], said.Last()))
	}
	return nil
}

// Measure runs a command with a build of the subject, keeps its results in folder, which it creates, and returns its
// points. A failure in the results is no error; a missing result is. The error is the user's when the command was
// wrong.
func (s Subject) Measure(ctx context.Context, program string, args []string, folder string) (*history.Night, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return nil, fault.Broken(err)
	}
	result := filepath.Join(folder, args[0]+".json")
	out, err := os.Create(result)
	if err != nil {
		return nil, fault.Broken(err)
	}
	defer out.Close()
	c := s.Command(ctx, program, append(slices.Clone(args), flags(args, folder, result)...))
	var said contract.Log
	c.Stderr = &said
	if args[0] != "conform" {
		c.Stdout = out
	}
	err = Run(c)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == UsageCode:
		return nil, fault.Usage(fmt.Errorf("%s%s", args[0], said.Last()))
	case err != nil && !errors.As(err, &exit):
		return nil, fault.Broken(fmt.Errorf("%s: %w", args[0], err))
	}
	n, err := points.Read(result, strings.Join(args[1:], " "))
	if err == nil {
		s.settle(n.Points, program, args)
	}
	if why := strings.TrimPrefix(said.Last(), ": "); err != nil && why != "" {
		err = errors.New(why)
	}
	return n, fault.Broken(err)
}

// settle names points after the subject, whatever its build. Those of a guest that counts instructions are exact.
func (s Subject) settle(list []history.Point, program string, args []string) {
	for i := range list {
		p := &list[i]
		if program != "" && s.Name != "" {
			p.Name = strings.ReplaceAll(p.Name, scenario.Exec+program, s.Name)
		}
		if p.Class == history.Noisy && slices.Contains(args, "--deterministic") {
			p.Class = history.Exact
		}
	}
}

// flags say where a command's results go.
func flags(args []string, folder, result string) []string {
	verb := args[0]
	runs := filepath.Join(folder, verb)
	kept := slices.Contains(args, "--units") // then results of runs have no folders
	switch {
	case verb == "conform" && kept:
		return []string{"--quiet", "--json", result}
	case verb == "conform":
		return []string{"--quiet", "--json", result, "--out", runs}
	case verb == "perf":
		return []string{"--quiet", "--json"}
	}
	return []string{"--quiet", "--json", "--out", runs}
}
