package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Fields of Perfetto's messages, by their numbers in protos/perfetto/trace of its repository.
const (
	tracePacket = 1

	packetTimestamp  = 8
	packetSequence   = 10
	packetEvent      = 11
	packetDescriptor = 60

	descriptorUUID    = 1
	descriptorName    = 2
	descriptorProcess = 3
	descriptorParent  = 5
	descriptorCounter = 8
	processPID        = 1
	processName       = 6

	eventAnnotation = 4
	eventType       = 9
	eventTrack      = 11
	eventName       = 23
	eventCounter    = 30
	eventFlow       = 47
	eventFlowEnd    = 48

	annotationInt  = 4
	annotationText = 6
	annotationName = 10
)

// kind is the type of an event on a track.
type kind uint64

const (
	begin kind = 1 + iota
	end
	instant
	counter
)

// track is the number of a track in the file; 0 is the track of the whole trace.
type track uint64

// message is the encoding of a protobuf message.
type message []byte

func (m *message) number(field protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

func (m *message) fixed(field protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) message(field protowire.Number, inner message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// note attaches a named number to an event.
func (m *message) note(name string, v int64) {
	var a message
	a.text(annotationName, name)
	a.number(annotationInt, uint64(v))
	m.message(eventAnnotation, a)
}

// say attaches a named text to an event; it omits "".
func (m *message) say(name, text string) {
	if text == "" {
		return
	}
	var a message
	a.text(annotationName, name)
	a.text(annotationText, text)
	m.message(eventAnnotation, a)
}

// event returns an event of a kind on a track. The end of a slice has no name.
func event(k kind, on track, name string) message {
	var m message
	m.number(eventType, uint64(k))
	m.number(eventTrack, uint64(on))
	if name != "" {
		m.text(eventName, name)
	}
	return m
}

// nanoseconds converts a time of the run to Perfetto's unit.
func nanoseconds(at vtime.Time) uint64 { return uint64(max(0, at) / vtime.Time(vtime.Nanosecond)) }
