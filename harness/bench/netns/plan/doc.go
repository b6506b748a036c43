// Package plan says what follows from a Spec on this bench, for the parent and for the processes that it starts alike:
// the hops of the path and the speed at which each is sent into, the roles of the processes, and the header of their
// traces.
//
// It is data and arithmetic. It opens nothing, and knows neither namespaces nor devices.
package plan
