package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
)

func exportCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "export FOLDER|FILE|-",
		Short: "Write a trace for the viewer of Perfetto",
		Long:  pipeHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if file == "" {
				return usage(errors.New("export: add --perfetto FILE, the file to write"))
			}
			out, err := os.Create(file)
			if err != nil {
				return broken(err)
			}
			err = run.Perfetto(c.Context(), out, args[0])
			closed := out.Close()
			if err != nil {
				_ = os.Remove(file) // half a file would be taken for a whole one
			}
			return unread(errors.Join(err, closed))
		},
	}
	c.Flags().StringVar(&file, "perfetto", "", "write Perfetto's native format to this file")
	return c
}
