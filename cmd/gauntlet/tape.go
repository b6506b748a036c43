package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/tapes"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// tapeFlags are the flags of the commands that run a scenario.
type tapeFlags struct {
	from, key, slot, out string
	seed                 uint64
}

func tapeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tape",
		Short: "Record, replay, convert and inspect loss tapes",
		Long: `A loss tape is a file that says which packets a link loses, so that the same losses meet every implementation and bench.

It is keyed by the number of the packet (index), by slots of channel time (time: transports that send different packets meet
the same fades), or by the transmission (identity: connection, PSN offset and how often it was sent). A scenario plays one with
"loss tape file=FILE".`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(tapeRecordCommand(), tapeReplayCommand(), tapeConvertCommand(), tapeInspectCommand())
	return c
}

// scenarioFlags are those of every command that runs a scenario.
func (f *tapeFlags) scenarioFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.from, "from", "A", "the sender whose losses count: A or B")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the run (default: the scenario's)")
}

// keyFlags are those of every command that writes a tape.
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
		Short:   "Run a scenario in virtual time and write down what its link loses",
		Example: `  gauntlet tape record wan.txt --key time --slot 10us --out fades.tape`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, from, err := f.scenario(c, args[0])
			if err != nil {
				return usage(err)
			}
			return f.write(c.Context(), s, from)
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
		Long: `Play a tape in a scenario, in virtual time, and write down the same losses under another key. It takes a scenario because only
packets tell which transmission was the hundredth, or when it was sent.`,
		Example: `  gauntlet tape convert fades.tape wan.txt --key identity --out losses.tape`,
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			s, from, err := f.scenario(c, args[1])
			if err != nil {
				return usage(err)
			}
			if _, err := playTape(c.Context(), s, from, args[0]); err != nil {
				return err
			}
			return f.write(c.Context(), s, from)
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
		Long: `Play a tape in a scenario, in virtual time, in place of the loss that the scenario asks for, and say how many of its losses came
up. A tape keyed by identity or index that names packets which are never sent is of another link or workload: exit code 1.

To judge and measure such a run: gauntlet run SCENARIO --loss 'tape file=TAPE'.`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			s, from, err := f.scenario(c, args[1])
			if err != nil {
				return usage(err)
			}
			again, err := playTape(c.Context(), s, from, args[0])
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
	c := &cobra.Command{Use: "inspect TAPE", Short: "Print the statistics of a tape", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
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

// scenario reads the file and the flags that say what of it counts.
func (f *tapeFlags) scenario(c *cobra.Command, path string) (*scenario.Spec, trace.Side, error) {
	side, ok := map[string]trace.Side{"A": trace.A, "B": trace.B}[f.from]
	if !ok {
		return nil, side, fmt.Errorf("--from %.20q: want A or B", f.from)
	}
	s, err := scenario.ReadFile(path)
	if err != nil {
		return nil, side, err
	}
	if c.Flags().Changed("seed") {
		s.Seed = f.seed
	}
	return s, side, s.Validate()
}

// write runs the scenario and writes the tape of it.
func (f *tapeFlags) write(ctx context.Context, s *scenario.Spec, from trace.Side) error {
	var slot vtime.Duration
	if f.slot != "" {
		var err error
		if slot, err = vtime.ParseDuration(f.slot); err != nil {
			return usage(fmt.Errorf("--slot: %w", err))
		}
	}
	t, err := tapes.Record(ctx, s, from, tape.Key(f.key), slot)
	if err != nil {
		return err
	}
	text := func(w io.Writer) error {
		_, err := t.WriteTo(w)
		return err
	}
	if f.out == "" {
		err = text(stdout)
	} else {
		err = document.File(f.out, text)
	}
	return broken(err)
}

// playTape plays a tape in a scenario. That one of its losses did not come up is a failure.
func playTape(ctx context.Context, s *scenario.Spec, from trace.Side, file string) (*tape.Tape, error) {
	again, err := tapes.Play(ctx, s, from, file)
	if err != nil && fault.Of(err) == fault.None {
		err = exit{exitFailure, err.Error()}
	}
	return again, err
}
