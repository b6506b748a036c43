package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// The rates of the measurement: from that of README's run upwards while it is valid, otherwise downwards.
const (
	usualRate = 100_000_000 // bits per second
	leastRate = usualRate / 8
	mostRate  = usualRate * 64

	mostTrials = 7 // from leastRate to mostRate
)

// usualCount is the number of messages in README's run. It is scaled with the rate, so that every run lasts as long.
const usualCount = 200

// usualTrial is README's run at one rate.
type usualTrial struct {
	rate   unit.Rate
	result *model.Result
}

// valid reports whether the link was as the Spec says. The verdicts of rules do not matter here: they do not depend on
// the machine.
func (t *usualTrial) valid() bool { return !t.result.Doubtful() }

func (t *usualTrial) String() string { return quantity.Rate(float64(t.rate)) }

// packetsPerSecond returns the rate of packets that the link carried, in both directions.
func (t *usualTrial) packetsPerSecond() int64 {
	return int64(float64(t.result.Packets) / (float64(max(1, t.result.ElapsedNs)) / 1e9))
}

// link returns the kind of link that carried the packets: the relay, or the kernel's netem.
func (t *usualTrial) link() string {
	for _, f := range t.result.Environment {
		if f.Name == "link" {
			return f.Value
		}
	}
	return "link"
}

// capacity finds the fastest valid link in real time on this machine. Run makes README's run at a rate; show is called
// with the share done.
func capacity(run func(rate unit.Rate) (*model.Result, error), show func(share float64, what string)) Finding {
	var best, worst *usualTrial // the fastest valid trial, and the slowest invalid one
	for rate, n := unit.Rate(usualRate), 0; rate >= leastRate && rate <= mostRate &&
		(best == nil || worst == nil); n++ {
		t := &usualTrial{rate: rate}
		show(float64(n)/mostTrials, "README's run at "+t.String())
		var err error
		if t.result, err = run(rate); err != nil {
			return Finding{Name: "capacity", State: "missing", Found: "not measured: " + fault.OneLine(err),
				Remedy: "gauntlet run --bench netns shows whether runs are possible at all"}
		}
		if t.valid() {
			best, rate = t, 2*rate
		} else {
			worst, rate = t, rate/2
		}
	}
	return carries(best, worst)
}

// carries reports the capacity that the trials show.
func carries(best, worst *usualTrial) Finding {
	f := Finding{Name: "capacity", State: "limited",
		Remedy: "stop what else runs here, or use --bench sim, or --bench lab --deterministic"}
	if best == nil {
		f.Found = fmt.Sprintf("README's run is INVALID at %s already: %s", worst, worst.result.Doubt)
		return f
	}
	f.Found = fmt.Sprintf("README's run is valid up to %s, with %s packets/s through the %s", best,
		quantity.Count(best.packetsPerSecond()), best.link())
	if worst != nil {
		f.Found += fmt.Sprintf("; at %s it is INVALID: %s", worst, worst.result.Doubt)
	}
	if best.rate >= usualRate {
		f.State, f.Remedy = "ok", ""
	}
	return f
}

// errNoRun is the error of a run that printed no result.
var errNoRun = errors.New("no result")

// usualRun makes README's run at a rate as a user would: in a process of its own, which gets its own privilege and
// repeats an INVALID run once.
func usualRun(ctx context.Context, rate unit.Rate) (*model.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gauntlet-doctor-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := exec.CommandContext(ctx, self, "run", "--impl", "gbn", "--bench", "netns", "--rate",
		strconv.FormatInt(int64(rate), 10), "--rtt", "20ms",
		"--loss", "1e-3", "--msg", "64KiB", "--count", strconv.Itoa(int(usualCount*rate/usualRate)), "--seed", "7",
		"--json", "--attempts", "2", "--out", filepath.Join(dir, "r"))
	var stdout bytes.Buffer
	c.Stdout, c.WaitDelay = &stdout, 10*time.Second
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // an interrupt lets it clean up
	failed := c.Run()
	var said struct {
		model.Result
		Error string `json:"error"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &said); err != nil {
		return nil, errors.Join(errNoRun, failed)
	}
	if said.Error != "" || said.Status == rule.Error.String() {
		return nil, errors.New(said.Error + said.Reason)
	}
	return &said.Result, nil
}

// unmeasured is the finding in place of Measure.
var unmeasured = Finding{Name: "capacity", State: "limited",
	Found: "not measured: how fast a link in real time can be here", Remedy: "gauntlet doctor --measure, half a minute"}

// Measure measures the capacity of a link in real time on this machine, by runs of this program. It calls show with the
// share done.
func Measure(ctx context.Context, show func(share float64, what string)) Finding {
	return capacity(func(rate unit.Rate) (*model.Result, error) { return usualRun(ctx, rate) }, show)
}
