// Package station reads and changes the state of a host with an RDMA device and a stock tool, by means of its kernel:
// the device's GIDs, firmware and counters, the settings of its network device, the memory of a tool, the completions
// of soft-RoCE.
//
// It knows neither runs nor the harness: the bench calls it when the tool is on this machine, and the supervisor calls
// it on a far host.
package station
