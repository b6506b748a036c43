package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/cluster"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
)

func shardCommand() *cobra.Command {
	c := &cobra.Command{Use: "shard", Short: "Share one command among many machines", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(shardPlanCommand())
	return c
}

func shardPlanCommand() *cobra.Command {
	var p cluster.Plan
	shards := map[string]*int{}
	c := &cobra.Command{
		Use:   "plan --slurm|--k8s|--github N COMMAND [FLAGS]",
		Short: "Print the file with which an engine runs a command in N shards and merges them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p.Command = args
			for _, name := range cluster.Names() {
				if c.Flags().Changed(name) {
					p.Shards = *shards[name]
					return plan(name, p)
				}
			}
			return usage(fmt.Errorf(
				"shard plan: say which engine: --slurm, --k8s or --github, with the number of shards"))
		},
	}
	d := c.Flags()
	for name, what := range map[string]string{"slurm": "a script that submits a job array of so many tasks, " +
		"and the merge behind it",
		"k8s":    "a manifest of an Indexed Job of so many pods, and of one that merges",
		"github": "a workflow with a matrix of so many jobs, and one that merges"} {
		shards[name] = d.Int(name, 0, what)
	}
	d.StringVar(&p.Program, "program", "", "slurm: path of this program on the nodes (default: its path here)")
	d.StringVar(&p.Image, "image", "ghcr.io/rdma-gauntlet/gauntlet", "k8s: image that holds this program")
	d.StringVar(&p.Claim, "claim", "gauntlet", "k8s: PersistentVolumeClaim for the results, writable by many pods")
	d.SetInterspersed(false) // the words after the command are its arguments
	c.MarkFlagsMutuallyExclusive(cluster.Names()...)
	return c
}

// plan checks the command, which would otherwise fail in every shard, and writes the file for its engine.
func plan(engine string, p cluster.Plan) error {
	c, rest, err := root().Find(p.Command)
	switch {
	case err != nil:
		return usage(err)
	case c.Flags().Lookup("shard") == nil:
		return usage(fmt.Errorf("shard plan: %s cannot be divided; atlas, conform, figures, matrix, night and perf can",
			p.Command[0]))
	}
	if err := c.ParseFlags(rest); err != nil {
		return usage(fmt.Errorf("shard plan: %s: %w", p.Command[0], err))
	}
	for _, name := range []string{"shard", "units"} {
		if c.Flags().Changed(name) {
			return usage(fmt.Errorf("shard plan: leave --%s out: the plan sets it", name))
		}
	}
	if path := c.Flags().Arg(0); c.Name() == "night" && there(path) { // else it is where the shards run
		if _, err := night.ReadPlan(path); err != nil {
			return usage(err)
		}
	}
	if p.Program == "" {
		if p.Program, err = os.Executable(); err != nil {
			return broken(err)
		}
	}
	return usage(cluster.Write(stdout, engine, p))
}

// there reports whether a file is there.
func there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
