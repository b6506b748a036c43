package process

import "testing"

func TestProcessorMask(t *testing.T) {
	for n, want := range map[int]string{0: "1", 5: "20", 31: "80000000", 32: "1,00000000", 70: "40,00000000,00000000"} {
		if got := processorMask(n); got != want {
			t.Errorf("processor %d: %q, want %q", n, got, want)
		}
	}
}
