package netns

import (
	"fmt"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/party"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// certify issues the certificates of the run, as far as it got: of the idle link before and after, and of the link
// under traffic.
func (s *session) certify() {
	bounds := certify.DefaultBounds()
	if s.devices != nil { // a device that computes in the kernel takes processor time from all processes
		bounds.DelayLeast = promptLeast
	}
	s.evidence.Certificates = append(s.evidence.Certificates, certify.Certify("before", bounds, s.before.Measured()...))
	if s.after == nil {
		return // the run broke
	}
	var traffic []certify.Measured
	for _, l := range s.legs {
		traffic = append(traffic, l.measured()...)
	}
	during := certify.Certify("during", bounds, traffic...)
	items := slices.Concat(during.Items, prompt(&s.parties), s.sent(), s.cabled)
	s.evidence.Certificates = append(s.evidence.Certificates, certify.Issue("during", items), certify.Certify("after",
		bounds, s.after.Measured()...))
}

// Limits of the time that an endpoint may wait for a processor. Rules allow an endpoint the same time (rule.Drain), so
// beyond it a slow host would be taken for a slow endpoint. Over the kernel's TCP only reads and writes wait for the
// endpoint, for which rules allow 20 ms; half of that is left to the socket.
const (
	promptLeast   = 5 * vtime.Millisecond
	promptOverTCP = 10 * vtime.Millisecond
)

// starvedMost is the part of a run for which an endpoint may leave its line idle for want of a processor, so that
// goodput differs by no more than this share from that on a faster machine. A job may ask for less.
const starvedMost = 0.03

// idled is the certificate of the line of an endpoint that sent data for length, and left its line idle for starved.
func idled(name string, starved, length vtime.Duration, asked float64) certify.Item {
	most := starvedMost
	if asked > 0 {
		most = min(most, asked)
	}
	return certify.Item{
		Name: name + " line idle", Want: fmt.Sprintf("at most %.2g %% of the run", 100*most),
		Got: fmt.Sprintf("%.2g %%", 100*starved.Seconds()/length.Seconds()),
		OK:  starved.Seconds() <= most*length.Seconds(),
		Bound: "what an endpoint does not send because it waits for a processor; leave more of it to the " +
			"run, or raise --dilate",
		Property: validity.Pace,
	}
}

// sent checks whether the ends that send data used their lines whenever they had packets to send. A late answer delays
// only the packets that wait for it, which prompt bounds; the time of an idle line is lost.
func (s *session) sent() (items []certify.Item) {
	length := vtime.Duration(s.at.cut)
	for side, e := range s.parties.Ends {
		from := func(l scenario.Load) bool { return l.Data() == trace.Side(side) }
		if e == nil || !slices.ContainsFunc(s.spec.Loads, from) {
			continue
		}
		items = append(items, idled(e.Name, e.Starved, length, s.job.Idle))
	}
	return items
}

// prompt checks whether the host gave the endpoints a processor in time.
func prompt(p *party.Parties) (items []certify.Item) {
	for _, e := range p.All() {
		most := promptLeast
		if e.Ready.TCP != "" {
			most = promptOverTCP
		}
		items = append(items, certify.Item{
			Name: e.Name + " waited", Want: "at most " + most.String(),
			Got: e.Late.Std().Round(time.Microsecond).String(), OK: e.Late <= most,
			Bound: "what rules allow for a reaction; leave more processor time to the run, raise " +
				"--dilate, or lower the rate",
			Property: validity.Lateness,
		}, certify.Item{
			Name: e.Name + " receive drops", Want: "0", Got: fmt.Sprint(e.End.Dropped),
			Bound:    "exact: frames that the kernel dropped because the endpoint was slow; lower the rate",
			OK:       e.End.Dropped == 0,
			Property: validity.Capture,
		})
	}
	return items
}
