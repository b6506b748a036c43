// Package tap captures, at a device at one end of a hop, every frame of the run in both directions.
//
// A tap runs on a thread of its own and spools to a file; the spool is read back in order of time once the fate of each
// frame is known. A tap knows neither the content of a frame nor the place of its device: the caller opens the device,
// and may exclude frames.
package tap
