package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// pipe returns the path of a pipe with content.
func pipe(t *testing.T, content []byte) string {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { r.Close() })
	go func() {
		_, _ = w.Write(content) // a reader may close the pipe early
		w.Close()
	}()
	return filepath.Join("/dev/fd", itoa(r.Fd()))
}

func itoa(fd uintptr) string {
	var digits []byte
	for ; fd > 0 || digits == nil; fd /= 10 {
		digits = append([]byte{byte('0' + fd%10)}, digits...)
	}
	return string(digits)
}

// A spooled copy has no name, can be played repeatedly, and is bounded.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	content := []byte(`{"a trace":1}` + strings.Repeat("\n", 1<<20))
	f, err := spool(t.Context(), pipe(t, content), "it", int64(len(content)))
	must(t, err)
	defer f.Close()
	got := make([]byte, len(content))
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%v, or another content", err)
	}
	if names, _ := os.ReadDir(os.TempDir()); len(names) > 0 {
		t.Errorf("%s is there while it is read", names[0].Name())
	}
	if _, err := spool(t.Context(), pipe(t, content), "it", int64(len(content))-1); err == nil ||
		!strings.Contains(err.Error(), "it: more than 1048588 bytes, the limit of a pipe; write it to a file") {
		t.Errorf("beyond the limit: %v", err)
	}
}

// When a pipe cannot be spooled, the error is not Unreadable, because the machine failed or the user interrupted.
func TestSpoolThatCannotBeMade(t *testing.T) {
	var u *Unreadable
	t.Run("no folder", func(t *testing.T) {
		t.Setenv("TMPDIR", "/nothing/here")
		_, err := openInput(t.Context(), pipe(t, []byte("{}\n")))
		if errors.As(err, &u) || err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
			t.Error(err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		r, w, err := os.Pipe()
		must(t, err)
		defer r.Close()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = openInput(ctx, filepath.Join("/dev/fd", itoa(r.Fd())))
		if errors.As(err, &u) || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// The message names the trace once, also when the cause names it too.
func TestUnreadable(t *testing.T) {
	for _, c := range []struct{ name, cause, want string }{
		{"f", "capture: frame 2: bad", "f: capture: frame 2: bad"},
		{"f", "stat f: no such file", "stat f: no such file"},
		{".", "trace: . holds neither", "trace: . holds neither"},
		{"f", `"f" is neither`, `"f" is neither`},
	} {
		if got := (&Unreadable{c.name, errors.New(c.cause)}).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	cut := &Unreadable{"f", trace.ErrTruncated}
	if !errors.Is(cut, trace.ErrTruncated) || !strings.HasSuffix(cut.Error(),
		"; copy or capture it again, to its end") {
		t.Error(cut)
	}
}
