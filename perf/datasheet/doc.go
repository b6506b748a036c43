// Package datasheet reads off a trace how a device behaves: how it recovers, how many NAKs a gap draws, how long it
// takes to answer and to send again, its timeouts and when it gives up, how it acknowledges, and how much it keeps in
// flight.
//
// Nothing is known of the device but its packets, so that a foreign one has a sheet as well as an engine of this
// project. A Reader watches one trace; what it finds is added to the findings on each device, which may come from
// several traces, because no one situation shows everything. A property that no trace showed is absent from the sheet's
// values and says so.
//
// Times are taken at the device's own port where it was tapped. Where only the peer's port was, they hold the round
// trip to it as well, and the sheet says that.
package datasheet
