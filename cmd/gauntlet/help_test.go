package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// eachCommand calls visit for every command that is not hidden.
func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	for _, below := range c.Commands() {
		if below.Hidden || below.Name() == "help" || below.Name() == "completion" {
			continue
		}
		if below.Runnable() {
			visit(below)
		}
		eachCommand(below, visit)
	}
}

// Every command shows an example, and the flags and arguments of each call in it are valid.
func TestExamplesAreTaken(t *testing.T) {
	eachCommand(root(), func(c *cobra.Command) {
		if c.Example == "" {
			t.Errorf("%s: no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			for _, call := range strings.Split(line, "|") {
				if args, ok := strings.CutPrefix(strings.TrimSpace(call), "gauntlet "); ok {
					taken(t, c, args)
				}
			}
		}
	})
}

// taken parses an example of a command.
func taken(t *testing.T, of *cobra.Command, line string) {
	t.Helper()
	c, args, err := root().Find(words(line))
	if err == nil {
		err = c.ParseFlags(args)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil || !c.Runnable() {
		t.Errorf("%s: the example %q: %v", of.CommandPath(), line, err)
	}
}

// words splits a line like a shell, with single quotes only, up to a redirection.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		for _, w := range strings.Fields(part) {
			if strings.HasPrefix(w, ">") {
				return list
			}
			list = append(list, w)
		}
	}
	return list
}

// A help topic does not run, has a short description, and begins with a heading.
func TestTopics(t *testing.T) {
	for _, c := range topics() {
		if c.Runnable() || c.Short == "" || !strings.HasPrefix(c.Long, "# ") {
			t.Errorf("%s: %q, %.40q", c.Name(), c.Short, c.Long)
		}
	}
}
