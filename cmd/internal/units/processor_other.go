//go:build !unix

package units

import "time"

var started = time.Now()

// processorTime returns the time since the start: the processor time is not available here.
func processorTime() time.Duration { return time.Since(started) }
