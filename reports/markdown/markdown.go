// Package markdown writes a short summary of a run, as CI systems show it beside a job.
package markdown

import (
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Write writes the summary of r.
func Write(w io.Writer, r *model.Result) error {
	_, err := fmt.Fprintf(w, "**%s**\n", r.Status)
	return err
}
