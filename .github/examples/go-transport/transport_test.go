package transport_test

import (
	"testing"

	"example.org/transport"
	"github.com/rdma-gauntlet/gauntlet/conformance/enginetest"
)

// Every scenario is a subtest, every broken rule a failure with its finding.
func TestTransport(t *testing.T) {
	enginetest.Run(t, enginetest.Config{Engine: transport.Implementation()})
}
