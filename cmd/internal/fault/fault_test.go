package fault

import (
	"errors"
	"fmt"
	"testing"
)

func TestOf(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{nil, None}, {plain, None}, {Usage(plain), User}, {Broken(plain), Harness},
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
