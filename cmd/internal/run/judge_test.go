package run

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A limit that a capture reached is in the result.
func TestLimitIsNamed(t *testing.T) {
	c := understood(&trace.Header{}, &recording.Capture{Limit: "too many flows"})
	if c.Limit != "too many flows" {
		t.Errorf("%+v", c)
	}
}
