//go:build !linux

package guest

import (
	"context"
	"errors"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
)

// Elsewhere is false, because package registry says that the lab needs Linux.
func Elsewhere(string) bool { return false }

// Again fails: there are no guests here.
func (o *Options) Again(context.Context, Command) (code int, err error) {
	return 0, fault.Usage(errors.New("--bench lab: needs Linux; use sim"))
}
