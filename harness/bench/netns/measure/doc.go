// Package measure measures the link of a hop: idle, by probes of its own, and under the traffic of a run, by what the
// taps and the link itself report. What it measured is for package certify to judge.
//
// It needs a way to open the device at each end of a hop, and knows neither where these are nor how the link is made.
package measure
