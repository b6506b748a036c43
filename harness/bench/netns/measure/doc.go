// Package measure measures the link of a hop: idle, by its own probes, and under the traffic of a run, by the reports
// of the taps and of the link itself. Package certify judges the measurements.
//
// The package needs a function that opens the device at each end of a hop, and knows neither where the ends are nor how
// the link is made.
package measure
