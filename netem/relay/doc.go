// Package relay implements the link in user space: a process between two devices that applies package channel to every
// frame. It offers exact losses, tapes, and faults on one named packet, which netem does not, and works where the
// kernel has no netem.
//
// One locked thread receives batches from both devices, offers each frame to the channel of its direction with the time
// at which the kernel received the frame, copies the frame into a bounded store, and sends it when it is due. The
// result includes the lateness of departures and the number of frames that found no memory; a certificate decides from
// both whether a run is valid.
//
// Foreign frames, which the Classifier does not know, bypass the channels and consume no draws: Config.Foreign tells
// whether they are forwarded at once or dropped. In ProbePhase the channels have rate, delay, jitter and queue only;
// RunPhase begins with fresh channels, so that measuring the link before a run does not change the draws of the run.
//
// A qdisc on the devices acts after the relay, on all frames except crafted and foreign ones, which bypass it.
//
// The relay does not depend on RoCE: a Dialect supplies the functions that identify and alter frames.
package relay
