// Package station is what a host shows and does by its own kernel, where an RDMA device and a stock tool are: the
// device's GIDs, firmware and counters, the settings of its network device, the memory of a tool, the completions of
// soft-RoCE.
//
// It knows no run and no harness: the bench calls it where the tool is on this machine, and the supervisor of a far
// host there.
package station
