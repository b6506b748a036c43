//go:build race

package sim_test

// raceEnabled reports the race detector, with which sync.Pool drops some items on purpose and durations mean nothing.
const raceEnabled = true
