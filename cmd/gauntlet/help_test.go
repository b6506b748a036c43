package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// eachCommand calls visit for every command that people call.
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

// Every command shows an example, and each line of it that calls the program has flags and arguments that this command
// takes.
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

// words splits a line as a shell does whose quotes are single ones, up to a redirection.
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

// A page about what commands share is one screen of help, and a name that nothing is called by is refused.
func TestTopics(t *testing.T) {
	for _, c := range topics() {
		if c.Runnable() || c.Short == "" || !strings.HasPrefix(c.Long, "# ") {
			t.Errorf("%s: %q, %.40q", c.Name(), c.Short, c.Long)
		}
	}
}
