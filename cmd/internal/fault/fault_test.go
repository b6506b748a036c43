package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

func TestOf(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{nil, None}, {plain, None}, {Usage(plain), User}, {Theirs(plain), Program}, {Broken(plain), Harness},
		{fmt.Errorf("around: %w", Broken(plain)), Harness}, {Usage(fmt.Errorf("around: %w", Broken(plain))), User},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
	if Usage(nil) != nil || Broken(nil) != nil {
		t.Error("no error is nobody's fault")
	}
	if err := Usage(plain); err.Error() != "plain" || !errors.Is(err, plain) {
		t.Errorf("%v is not the error that was marked", err)
	}
}

// An error is printed as one line, whatever text of a program or tool is in it.
func TestOneLine(t *testing.T) {
	err := errors.Join(errors.New("netns: \x1b]0;owned\a"),
		errors.New("::error::x "+strings.Repeat("y", 3*quote.Message)))
	got := OneLine(err)
	if want := `netns: \x1b]0;owned\x07; ::error::x yyy`; !strings.HasPrefix(got, want) || len(got) > quote.Message ||
		!strings.HasSuffix(got, " bytes left out)") {
		t.Errorf("%d bytes: %.80q… want %q", len(got), got, want)
	}
}
