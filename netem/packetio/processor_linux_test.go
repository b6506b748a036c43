package packetio

import (
	"runtime"
	"slices"
	"testing"
)

func mine(t *testing.T) []int {
	t.Helper()
	list, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReserve(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := mine(t)
	r, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		if len(before) > 1 {
			t.Fatalf("none of %v was reserved", before)
		}
		t.Skip("one processor: none can be reserved")
	}
	want := slices.DeleteFunc(slices.Clone(before), func(n int) bool { return n == r.Processor })
	if got := mine(t); !slices.Equal(got, want) || len(got) != len(before)-1 {
		t.Errorf("processors %v after reserving %d of %v", got, r.Processor, before)
	}
	other := make(chan []int)
	go func() {
		runtime.LockOSThread() // a thread of its own, which ends with the goroutine
		_ = Pin(r.Processor)
		other <- mine(t)
	}()
	if got := <-other; !slices.Equal(got, []int{r.Processor}) {
		t.Errorf("the pinned thread may use %v", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mine(t); !slices.Equal(got, before) {
		t.Errorf("processors %v afterwards, want %v", got, before)
	}
}
