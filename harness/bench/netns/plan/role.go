package plan

// The roles of the processes that a bench starts, by the words of the hidden commands "process ROLE". An endpoint and a
// middlebox belong to an implementation.
const (
	RoleEndpoint = "endpoint"
	RoleBox      = "box"
	RoleRelay    = "relay"
	RoleCable    = "cable"
)

// BrokePromise is the state by which a middlebox reports a connection of which it broke a promise: its value is the
// number of the connection.
const BrokePromise = "broken"
