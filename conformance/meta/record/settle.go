package record

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// Settle is the meta.Settler of the program: the failed properties are measured by a bench and stated in a certificate.
func Settle(verdicts []rule.Verdict, failed validity.Property) rule.Status {
	var certificates []certify.Certificate
	if failed != 0 {
		item := certify.Item{Name: failed.String(), Want: "good", Got: "bad", Bound: "none", Property: failed}
		certificates = []certify.Certificate{certify.Issue("during", []certify.Item{item})}
	}
	judging.Invalidate(verdicts, certificates, nil)
	status, _ := judging.Settle(verdicts, certificates, nil)
	return status
}
