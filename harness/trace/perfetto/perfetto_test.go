package perfetto

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// seen is an event as read from the file.
type seen struct {
	at         uint64
	kind       kind
	on         track
	name       string
	flow, ends uint64
	value      int64
}

// fields calls visit for each field of a message.
func fields(t *testing.T, m []byte, visit func(field protowire.Number, number uint64, inner []byte)) {
	t.Helper()
	for len(m) > 0 {
		field, wire, n := protowire.ConsumeTag(m)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m = m[n:]
		var number uint64
		var inner []byte
		switch wire {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(m)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(m)
		default:
			inner, n = protowire.ConsumeBytes(m)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m = m[n:]
		visit(field, number, inner)
	}
}

// read parses a file: the names of its tracks with those of their parents, and its events in order of time.
func read(t *testing.T, file []byte) (names map[track]string, events []seen) {
	t.Helper()
	names = map[track]string{}
	fields(t, file, func(_ protowire.Number, _ uint64, packet []byte) {
		var at uint64
		var what []byte
		fields(t, packet, func(field protowire.Number, number uint64, inner []byte) {
			switch field {
			case packetTimestamp:
				at = number
			case packetEvent:
				what = inner
			case packetDescriptor:
				describe(t, inner, names)
			}
		})
		if what != nil {
			events = append(events, eventOf(t, at, what))
		}
	})
	slices.SortStableFunc(events, func(a, b seen) int { return cmp.Compare(a.at, b.at) })
	return names, events
}

func describe(t *testing.T, m []byte, names map[track]string) {
	var uuid, parent track
	var name string
	fields(t, m, func(field protowire.Number, number uint64, inner []byte) {
		switch field {
		case descriptorUUID:
			uuid = track(number)
		case descriptorParent:
			parent = track(number)
		case descriptorName:
			name = string(inner)
		case descriptorProcess:
			fields(t, inner, func(field protowire.Number, _ uint64, text []byte) {
				if field == processName {
					name = string(text)
				}
			})
		}
	})
	if above, ok := names[parent]; ok {
		name = above + "/" + name
	} else if parent != 0 {
		t.Errorf("%s is below a track that nobody has described", name)
	}
	if names[uuid] != "" {
		t.Errorf("two tracks have the number %d: %s, %s", uuid, names[uuid], name)
	}
	names[uuid] = name
}

func eventOf(t *testing.T, at uint64, m []byte) seen {
	e := seen{at: at}
	fields(t, m, func(field protowire.Number, number uint64, inner []byte) {
		switch field {
		case eventType:
			e.kind = kind(number)
		case eventTrack:
			e.on = track(number)
		case eventName:
			e.name = string(inner)
		case eventFlow:
			e.flow = number
		case eventFlowEnd:
			e.ends = number
		case eventCounter:
			e.value = int64(number)
		}
	})
	return e
}

// written returns a fixture as a file.
func written(t *testing.T, text string) []byte {
	t.Helper()
	f := tracetest.Parse(t, text, psn.Mask-2)
	var b bytes.Buffer
	w := New(&b, &f.Header)
	f.Play(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Any trace is well formed: its tracks are described, slices begin and end and do not overlap on a track, and arrows go
// from a packet that was sent to its later arrival.
func TestWellFormed(t *testing.T) {
	for name, text := range map[string]string{"gap": tracetest.Gap, "everything": tracetest.Everything,
		"lossy": tracetest.LossyRun(3, 2000)} {
		names, events := read(t, written(t, text))
		open, sent := map[track]int{}, map[uint64]uint64{}
		for _, e := range events {
			if names[e.on] == "" {
				t.Errorf("%s: %+v is on a track that nobody has described", name, e)
			}
			if e.flow != 0 {
				sent[e.flow] = e.at
			}
			switch e.kind {
			case begin:
				open[e.on]++
			case end:
				open[e.on]--
			}
			if n := open[e.on]; n < 0 || n > 1 {
				t.Fatalf("%s: %d slices on %s at %d ns", name, n, names[e.on], e.at)
			}
		}
		for _, e := range events {
			if at, ok := sent[e.ends]; e.ends != 0 && (!ok || at > e.at) {
				t.Errorf("%s: %+v arrives and was sent at %d", name, e, at)
			}
		}
		for on, n := range open {
			if n != 0 {
				t.Errorf("%s: a slice on %s never ends", name, names[on])
			}
		}
	}
}

// The events of a short trace by track.
func TestGap(t *testing.T) {
	names, events := read(t, written(t, tracetest.Gap))
	var got []string
	for _, e := range events {
		if e.on != 0 && (e.kind != instant || strings.HasPrefix(e.name, "lost")) {
			got = append(got, fmt.Sprint(strings.SplitN(names[e.on], "/", 2)[0][:1], strings.TrimPrefix(names[e.on],
				"A "), " ", e.kind, " ", e.name))
		}
	}
	for _, want := range []string{"WRITE 2KiB", "lost WRITE_MIDDLE", "recovery"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// A write error is returned once, at the end.
func TestFullDisk(t *testing.T) {
	f := tracetest.Parse(t, tracetest.LossyRun(1, 500), 0)
	full := errors.New("no space left")
	w := New(writer(func([]byte) (int, error) { return 0, full }), &f.Header)
	f.Play(w)
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
