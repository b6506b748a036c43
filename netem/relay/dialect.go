package relay

import (
	"encoding/json"

	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Classifier identifies packets. Classify is called once per frame; it returns false for a foreign frame. Fingerprint
// identifies the bytes of a frame in the fate log.
type Classifier interface {
	Classify(from fault.Side, frame []byte) (fault.Identity, bool)
	Fingerprint(frame []byte) uint64
}

// Alter applies the corruption, rewriting and marking of a verdict to the bytes of a frame.
type Alter func(frame []byte, v *channel.Verdict)

// Dialect returns the Classifier and the Alter function for the configuration in Setup.Dialect. Only the Dialect
// interprets that configuration.
type Dialect func(config json.RawMessage) (Classifier, Alter, error)
