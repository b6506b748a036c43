// Package relay is the link in user space: a process between two devices that applies package channel to every frame.
// It does what netem cannot, exact losses, tapes, faults on one named packet, and works where the kernel has no netem.
//
// One locked thread receives batches from both devices, lets the channel of the direction judge each frame by the time
// at which the kernel received it, copies the frame into a bounded store, and sends it when it is due. How late it was
// is part of the result, and so are frames that found no room; a certificate turns both into a valid or invalid run.
//
// Frames that the Classifier does not know take no part: by Config.Foreign they cross at once, or are dropped, and
// consume no draws. In ProbePhase the channels keep rate, delay, jitter and queue only; RunPhase begins with fresh
// ones, so that measuring the link before a run shifts nothing in it.
//
// A qdisc on the devices acts behind the relay, on all but what nothing must happen to: crafted and foreign frames go
// past it.
//
// The relay knows no RoCE. What identifies a frame, and what alters one, is given to it.
package relay
