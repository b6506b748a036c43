//go:build race

package sim_test

// raceEnabled says that sync.Pool throws away a part of what it is given, on purpose, and that time is no measure.
const raceEnabled = true
