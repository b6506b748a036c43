// Package plan derives from a Spec the data that the bench and the processes that it starts both need: the hops of the
// path and the speed at which each is sent into, the roles of the processes, and the header of their traces.
//
// It is data and arithmetic. It opens nothing, and knows neither namespaces nor devices.
package plan
