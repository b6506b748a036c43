// Package datasheet determines the behaviour of a device from a trace: how it recovers, how many NAKs it sends for a
// gap, how long it takes to answer and to retransmit, its timeouts and when it gives up, how it acknowledges, and how
// much it keeps in flight.
//
// The packets are the only input about a device, so that a foreign device can have a sheet, as an engine of this
// project can. A Reader reads one trace; its findings are added to those of each device, which may come from several
// traces, because no single situation shows every property. A property that no trace showed has the value Absent in the
// sheet.
//
// Times are taken at the device's own port where it was tapped. Where only the peer's port was tapped, they include the
// round trip to it, and the sheet states this.
package datasheet
