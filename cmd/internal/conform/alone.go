package conform

import (
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
)

// Alone selects scenarios by their labels, as Register does, for a caller that plays them one by one and passes to
// Observe the outcomes that count. It does not use Ginkgo, so a process can do it for several sessions.
func (s *Session) Alone(waived []waivers.Waiver) (*suite.Alone, error) {
	alone, err := suite.NewAlone(s.suite(waived), s.Select.LabelFilter)
	if err != nil {
		return nil, fault.Usage(err)
	}
	s.Specs = alone.Specs
	return alone, s.chosen(nil)
}

// seen notes the kernel of a run.
func (s *Session) seen(kernel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Kernel = kernel
}
