package brokentest

import (
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Ordeal is a set of stress runs for a correct engine: each impairment of Hurts on each link under each work, as
// statements of a scenario.
type Ordeal struct {
	Links, Hurts, Works []string
	Before              int  // first seed minus one; smaller seeds are left to other ordeals
	Sparse              bool // each impairment runs once; all combinations run with the build tag sweep
}

// Usual returns the ordeal of most families: links that lose, delay, duplicate and corrupt packets, with traffic both
// ways, and more impairments that matter for one family.
func Usual(more ...string) Ordeal {
	return Ordeal{
		Links: []string{"rate=10G delay=10us queue=1000", "rate=100G delay=10us queue=1000",
			"rate=1G delay=5ms queue=40 jitter=100us",
			"rate=10G delay=100us queue=1000 reorder=5%"},
		Hurts: append([]string{"loss random p=0.02", "loss gemodel p=0.01 r=0.3", "dup A count=*\ndup B count=*",
			"corrupt A nth=10 count=5 field=any\ncorrupt B nth=10 count=5 field=any"}, more...),
		Works: []string{"load read msg=5000 count=10\nload write msg=100 count=10\nqp rto=30ms ackreq=3 coalesce=4",
			"load write-imm msg=2049 count=20\nload read from=B msg=4096 count=5\nload send from=B msg=1 " +
				"count=20\nqp rto=40ms receives=2",
			"load send msg=3000 count=20\nqp rto=20ms mtu=256 cqmod=5 qd=20 count=2 rd=2"},
	}
}

// Stress runs a correct engine through an ordeal, to find rules that are too strict: no rule of list may have a
// finding. Without the build tag sweep only one in len(Works) of the combinations of link, impairment and work runs, so
// that each link still meets each impairment once, and with -short each impairment runs at most once, on the first two
// links.
func Stress(t *testing.T, right engine.Implementation, list []rule.Rule, o Ordeal) {
	seed, from, sparse := o.Before, starts(&right), o.Sparse || testing.Short()
	for l, link := range o.Links {
		for h, hurt := range o.Hurts {
			for w, work := range o.Works {
				seed++
				if !everything && ((l+h+w)%len(o.Works) != 0 || sparse && (l+h)%len(o.Links) != 0 ||
					testing.Short() && l > 1) {
					continue
				}
				text := fmt.Sprintf("seed %d\nlink %s\n%s\n%s\nreport detail\n", seed, link, hurt, work)
				spec := parse(t, text)
				spec.Start(from[seed%len(from)])
				Judged(t, spec, right).Clean(t, right.Name+": "+text, list)
			}
		}
	}
}
