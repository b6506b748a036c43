package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/tapes"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// tapeFlags are the flags of the tape commands that run a scenario.
type tapeFlags struct {
	from, key, slot, out string
	seed                 uint64
}

func tapeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tape",
		Short: "Record, replay, convert and inspect loss tapes",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(tapeRecordCommand(), tapeReplayCommand(), tapeConvertCommand(), tapeInspectCommand())
	return c
}

// scenarioFlags declares the flags of commands that run a scenario.
func (f *tapeFlags) scenarioFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.from, "from", "A", "the sender whose losses count: A or B")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the run (default: the scenario's)")
}

// keyFlags declares the flags of commands that write a tape.
func (f *tapeFlags) keyFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.key, "key", "identity", "how losses are named: identity, index or time")
	c.Flags().StringVar(&f.slot, "slot", "", "length of a slot of --key time, such as 10us")
	c.Flags().StringVar(&f.out, "out", "", "file to write (default: standard output)")
	complete(c, "key", "identity", "index", "time")
}

func tapeRecordCommand() *cobra.Command {
	var f tapeFlags
	c := &cobra.Command{
		Use:     "record SCENARIO",
		Short:   "Run a scenario in virtual time and record the losses of its link",
		Example: `  gauntlet tape record wan.txt --key time --slot 10us --out fades.tape`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := f.open(c, args[0])
			if err != nil {
				return err
			}
			return f.write(c.Context(), r)
		},
	}
	f.scenarioFlags(c)
	f.keyFlags(c)
	return c
}

func tapeConvertCommand() *cobra.Command {
	var f tapeFlags
	c := &cobra.Command{
		Use:   "convert TAPE SCENARIO",
		Short: "Play a tape in a scenario and record it under another key",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			r, _, err := f.play(c, args)
			if err != nil {
				return err
			}
			return f.write(c.Context(), r)
		},
	}
	f.scenarioFlags(c)
	f.keyFlags(c)
	return c
}

func tapeReplayCommand() *cobra.Command {
	var f tapeFlags
	c := &cobra.Command{
		Use:   "replay TAPE SCENARIO",
		Short: "Play a tape in a scenario and check that all its losses come up",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			_, again, err := f.play(c, args)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s lost what sender %s sends, as the tape says; key %s\n",
				quantity.Plural(int64(again.Lost()), "loss", "losses"), f.from, again.Key)
			return err
		},
	}
	f.scenarioFlags(c)
	return c
}

func tapeInspectCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "inspect TAPE", Short: "Print the statistics of a tape", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := tape.Open(args[0])
			if err != nil {
				return usage(err)
			}
			if asJSON {
				return document.JSON(c.OutOrStdout(), t.Stats())
			}
			return tapes.Print(c.OutOrStdout(), t.Stats())
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// open reads the scenario, and applies the flags that override it.
func (f *tapeFlags) open(c *cobra.Command, path string) (*tapes.Run, error) {
	seed := &f.seed
	if !c.Flags().Changed("seed") {
		seed = nil
	}
	return tapes.Open(path, f.from, seed)
}

// play plays the tape in the first file in the scenario in the second, and returns the tape of the losses. A loss of
// the tape that did not occur is a failure.
func (f *tapeFlags) play(c *cobra.Command, files []string) (*tapes.Run, *tape.Tape, error) {
	r, err := f.open(c, files[1])
	if err != nil {
		return nil, nil, err
	}
	again, err := r.Play(c.Context(), files[0])
	if err != nil && fault.Of(err) == fault.None {
		err = exit{exitFailure, err.Error()}
	}
	return r, again, err
}

// write runs the scenario and writes its tape.
func (f *tapeFlags) write(ctx context.Context, r *tapes.Run) error {
	t, err := r.Record(ctx, f.key, f.slot)
	if err != nil {
		return err
	}
	return broken(tapes.Write(t, f.out))
}
