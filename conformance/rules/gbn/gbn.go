// Package gbn holds the rules of go-back-N recovery, the scheme of commodity RoCEv2.
package gbn

import "github.com/rdma-gauntlet/gauntlet/conformance/rule"

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule { return nil }
