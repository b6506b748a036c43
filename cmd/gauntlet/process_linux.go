package main

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/container"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/measure"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/process"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/supervise"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
)

// processCommands are the processes that a bench starts from this binary. They exchange lines of JSON on their standard
// streams and are not for users.
func processCommands() []*cobra.Command {
	parent := &cobra.Command{Use: "process", Hidden: true, Short: "Bodies of the processes that a bench starts"}
	parent.AddCommand(&cobra.Command{Use: "endpoint IMPL", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, names []string) error {
			return refused(process.EndpointMain(os.Stdin, os.Stdout, names[0], all.Find))
		}},
		&cobra.Command{Use: "box IMPL", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, names []string) error {
			return refused(process.BoxMain(os.Stdin, os.Stdout, names[0], all.Find))
		}},
		&cobra.Command{Use: "confined USER PROGRAM [ARGUMENT...]", Args: cobra.MinimumNArgs(2),
			DisableFlagParsing: true, RunE: func(_ *cobra.Command, args []string) error {
				return broken(container.Confine(args[0], args[1:]))
			}},
		&cobra.Command{Use: "supervise FILE", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command,
			names []string) error {
			return broken(supervise.Main(os.Stdin, os.Stdout, names[0]))
		}},
		&cobra.Command{Use: "relay", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return broken(relay.Main(os.Stdin, os.Stdout, dialect))
		}},
		&cobra.Command{Use: "cable", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return broken(remote.CableMain(os.Stdin, os.Stdout))
		}},
		&cobra.Command{Use: "host", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return broken(measure.HostMain(os.Stdout))
		}},
		&cobra.Command{Use: "privileged", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return broken(topology.Privileged())
		}},
		&cobra.Command{Use: "guest", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return broken(lab.GuestMain())
		}},
		&cobra.Command{Use: "janitor NAME...", Args: cobra.MinimumNArgs(1), RunE: func(_ *cobra.Command,
			names []string) error {
			return broken(topology.JanitorMain(names, os.Stdin))
		}},
	)
	return []*cobra.Command{parent}
}

// refused returns another exit code for a program that does not support its orders than for one that broke.
func refused(err error) error {
	if errors.Is(err, contract.ErrUnsupported) {
		return exit{contract.Unsupported, err.Error()}
	}
	return broken(err)
}

// dialect configures a relay for RoCEv2.
func dialect(config json.RawMessage) (relay.Classifier, relay.Alter, error) {
	packets, err := wire.ReadClassifier(config)
	return packets, wire.Alter, err
}
