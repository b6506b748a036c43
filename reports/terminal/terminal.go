// Package terminal writes the result of a run for people at a terminal.
package terminal

import (
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options of Write.
type Options struct {
	Color bool // ANSI colours
}

// Write writes the result of r.
func Write(w io.Writer, r *model.Result, o Options) error {
	_, err := fmt.Fprintln(w, r.Status)
	return err
}
