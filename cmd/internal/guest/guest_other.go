//go:build !linux

package guest

import (
	"context"
	"errors"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
)

// Elsewhere returns false; package registry reports that the lab needs Linux.
func Elsewhere(string) bool { return false }

// Again returns an error: there are no guests on this system.
func (o *Options) Again(context.Context, Command) (code int, err error) {
	return 0, fault.Usage(errors.New("--bench lab: needs Linux; use sim"))
}
