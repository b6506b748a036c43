// Package tap watches a device at one end of a hop, in both directions, and keeps every frame of the run.
//
// A tap runs on a thread of its own and spools to a file; the spool is read back in order of time once it is known what
// became of each frame. A tap knows neither what a frame means nor where its device is: the caller opens the device,
// and may have frames left out.
package tap
