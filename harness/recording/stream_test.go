package recording

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
)

func TestBegins(t *testing.T) {
	for _, c := range []struct {
		head string
		want string
	}{
		{"{\"ga", ""}, {"\x1F\x8B\x08\x00", ""}, {"\x0A\x0D\x0D\x0A", ""}, {"\xA1\xB2\xC3\xD4", ""},
		{"\xD4\xC3\xB2\xA1", ""},
		{"\xA1\xB2\x3C\x4D", ""}, {"\x4D\x3C\xB2\xA1", ""}, {"", "empty; want"}, {"\x1F", "neither pcap"},
		{"\x7FELF", "neither pcap"}, {"[1,2", "neither pcap"},
	} {
		if err := Begins([]byte(c.head)); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.head, err, c.want)
		}
	}
}

// A recording read from a stream plays like its file, repeatedly, and has a limit of size.
func TestReadFrom(t *testing.T) {
	var b bytes.Buffer
	h := trace.Header{Version: trace.FormatVersion, Bench: "sim", Taps: [2]bool{true, true}}
	w, err := ndjson.NewWriter(&b, &h)
	if err != nil {
		t.Fatal(err)
	}
	w.End(7)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	whole := bytes.NewReader(append(b.Bytes(), "what follows is not of it"...))
	got, err := ReadFrom("it", whole, int64(b.Len()), Stated{})
	if err != nil || got.Header.Bench != h.Bench || got.Header.Taps != h.Taps {
		t.Fatalf("%+v, %v", got, err)
	}
	for range 2 {
		var c trace.Collector
		if err := got.Play(&c); err != nil {
			t.Fatal(err)
		}
	}
	got, err = ReadFrom("it", whole, int64(b.Len())-2, Stated{})
	if err != nil {
		t.Fatal(err)
	}
	err = got.Play(&trace.Collector{})
	if !errors.Is(err, trace.ErrTruncated) || !strings.HasPrefix(err.Error(), "it: ") {
		t.Errorf("cut short: %v", err)
	}
	if _, err := ReadFrom("it", whole, 0, Stated{}); err == nil || !strings.HasPrefix(err.Error(), "it: empty") {
		t.Errorf("empty: %v", err)
	}
}
