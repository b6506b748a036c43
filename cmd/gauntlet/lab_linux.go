package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/linkmakers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
)

func labCommands() []*cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Use the kernel of a QEMU guest, for machines without netem or soft-RoCE",
		Long:  lab.Page,
	}
	c.AddCommand(labFetchCommand(), labRunCommand(), labShellCommand(), labCompareCommand(), labGoodputCommand())
	return []*cobra.Command{c}
}

func labFetchCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "fetch [PACKAGE[=VERSION]]",
		Short: "Download a kernel package with apt and unpack it without installing it",
		Long: fmt.Sprintf(`Download a kernel package of Debian with apt, which checks its signature, and unpack it into the
cache without installing it.

The default is %s, which is always the current one. Version and hash are recorded in every report. Mirrors drop
old versions, so a given version may be unavailable. Guests boot the kernel that was fetched last.`, lab.StockPackage),
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := guest.Fetch(c.Context(), append(args, lab.StockPackage)[0])
			if err != nil {
				return err
			}
			if asJSON {
				return broken(document.JSON(stdout, k))
			}
			fmt.Printf("%s\nsha256 %s\nin %s\n", k, k.SHA256, filepath.Dir(filepath.Dir(k.Image)))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the kernel as JSON")
	return c
}

func labRunCommand() *cobra.Command {
	var f bootFlags
	var outputs []string
	var seed uint64
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command in a guest",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := f.boot()
			if err != nil {
				return err
			}
			g.Command, g.Seed = args, seed
			if g.Outputs, err = guest.Absolute(outputs); err != nil {
				return usage(err)
			}
			return ended(guest.Boot(c.Context(), g))
		},
	}
	d := c.Flags()
	f.define(c)
	d.StringArrayVar(&outputs, "output", nil, "file or folder to copy back; may be repeated")
	d.Uint64Var(&seed, "seed", 1, "seed of all random choices in a deterministic guest")
	return c
}

func labShellCommand() *cobra.Command {
	var f bootFlags
	c := &cobra.Command{
		Use:   "shell",
		Short: "Open a shell in a guest",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			g, err := f.boot()
			if err != nil {
				return err
			}
			guest.Shell(g)
			return ended(guest.Boot(c.Context(), g))
		},
	}
	f.define(c)
	return c
}

// bootFlags are the flags of the commands that boot a guest to run any command.
type bootFlags struct {
	guestFlags
	with, modules []string
}

func (f *bootFlags) define(c *cobra.Command) {
	f.Define(c)
	c.Flags().StringArrayVar(&f.with, "with", nil,
		"program by name, or file or folder by path, to copy to the guest; may be repeated")
	c.Flags().StringArrayVar(&f.modules, "module", nil, "kernel module to load, with those it needs; may be repeated")
}

// boot makes the guest.
func (f *bootFlags) boot() (*lab.Guest, error) {
	g, err := f.Guest()
	if err == nil {
		g.Modules, g.With = f.modules, append(g.With, f.with...)
	}
	return g, err
}

func labCompareCommand() *cobra.Command {
	var f guestFlags
	var seed uint64
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare the kernel's netem, the relay and the simulator",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if guest.Elsewhere("lab") {
				return f.again(c.Context(), seed, nil, nil)
			}
			if asJSON {
				list, err := linkmakers.Collect(c.Context(), seed)
				return broken(errors.Join(err, document.JSON(stdout, list)))
			}
			return broken(linkmakers.Write(c.Context(), seed, os.Stdout))
		},
	}
	f.Define(c)
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of every run")
	c.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	return c
}
