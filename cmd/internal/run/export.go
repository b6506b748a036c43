package run

import (
	"cmp"
	"context"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/trace/perfetto"
)

// Perfetto writes a trace in Perfetto's format. It writes the part that exists of a run that was cut off, and returns
// an error that says so.
func Perfetto(ctx context.Context, w io.Writer, path string) error {
	e := endingOf(path)
	in, err := openInput(ctx, e.trace(path))
	if e.tolerates(err) {
		return e.err()
	}
	if err != nil {
		return err
	}
	defer in.close()
	p := perfetto.New(w, &in.header)
	if err := in.play(p); err != nil && !e.tolerates(err) {
		return err
	}
	return cmp.Or(p.Close(), e.err())
}
