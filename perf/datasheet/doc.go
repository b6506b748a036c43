// Package datasheet reads off a trace how a device behaves: how it recovers, how many NAKs a gap draws, how long it
// takes to answer and to send again, its timeouts and when it gives up, how it acknowledges, and how much it keeps in
// flight.
//
// The packets are the only input about a device, so that a foreign one has a sheet as well as an engine of this
// project. A Reader reads one trace; its findings are added to those of each device, which may come from several
// traces, because no single situation shows every property. A property that no trace showed has the value Absent in the
// sheet.
//
// Times are taken at the device's own port where it was tapped. Where only the peer's port was tapped, they include the
// round trip to it, and the sheet states this.
package datasheet
