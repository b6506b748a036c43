package relay

import (
	"encoding/json"

	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Classifier tells packets apart. Classify is asked once per frame; false means that the frame is foreign. Fingerprint
// identifies the bytes of a frame in the fate log.
type Classifier interface {
	Classify(from fault.Side, frame []byte) (fault.Identity, bool)
	Fingerprint(frame []byte) uint64
}

// Alter carries out what a verdict says about the bytes of a frame: corruption, rewriting, marking.
type Alter func(frame []byte, v *channel.Verdict)

// Dialect makes both from Setup.Dialect, which it alone understands.
type Dialect func(config json.RawMessage) (Classifier, Alter, error)
