module example.org/transport

go 1.26.8

require github.com/rdma-gauntlet/gauntlet v0.1.0
